"""Group fairness on rows in clear: any number of groups, with intervals.

The audit from randomised records alone, which sees no group at all, is
:func:`hushpoll_analysis.auditing.audit.audit`.
"""
