"""A newcomer walks to the first answered survey by the README alone, with what is installed.

The blocks that lead to a fairness table are run by `tests/test_readme.py` and `tests/fleet/demo`;
`scripts/walks` walks both ways from a bare Python.
"""

from __future__ import annotations

import walks


def test_the_readme_leads_to_a_survey_that_is_answered_in_a_browser(capsys):
    seconds = walks.walk_to_an_answer(installed=True)
    with capsys.disabled():
        print(f"\nto the first survey answered in a browser: {seconds:.0f} s")
