"""The laboratory: papers rerun, their data sets, and learners of central differential privacy.

It adds its learners to those of :mod:`hushpoll_training` by an entry point of the group
``hushpoll.learners``; a server that only collects and trains on records does without it.
"""

import hushpoll_training.learners.installed  # noqa: F401  it must come before what it checks for
