"""What may be asked of a survey's records, and what comes back: a module for each statistic.

How to write one is shown at the head of :mod:`hushpoll_shared.querying`.
"""
