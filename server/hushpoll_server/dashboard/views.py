"""All views of the dashboard together: importing this module puts them on the blueprint."""

from __future__ import annotations

from typing import Final

from hushpoll_server.dashboard import (
    collecting,
    cross_tables,
    curves,
    inviting,
    jobs,
    models,
    provider,
    regressions,
    results,
    signing,
    surveys,
    weighting,
)
from hushpoll_server.dashboard.administration import operations, people
from hushpoll_server.dashboard.auditing import fairness, quality
from hushpoll_server.dashboard.drafts import views as drafts
from hushpoll_server.dashboard.frame import dashboard, refused
from hushpoll_server.dashboard.querying import result_page
from hushpoll_server.dashboard.relating import comparison, joint_table
from hushpoll_server.dashboard.reporting import report, sheets

VIEWS: Final = (
    signing,
    provider,
    surveys,
    collecting,
    inviting,
    results,
    cross_tables,
    comparison,
    joint_table,
    result_page,
    weighting,
    regressions,
    models,
    fairness,
    quality,
    report,
    sheets,
    curves,
    jobs,
    drafts,
    people,
    operations,
)

__all__ = ["VIEWS", "dashboard", "refused"]
