"""All views of the dashboard together: importing this module puts them on the blueprint."""

from __future__ import annotations

from typing import Final

from hushpoll_server.dashboard import (
    collecting,
    curves,
    estimates,
    fairness,
    jobs,
    models,
    quality,
    queries,
    regressions,
    reporting,
    surveys,
)
from hushpoll_server.dashboard.comparing import comparison, cross_tables, weighting
from hushpoll_server.dashboard.drafts import views as drafts
from hushpoll_server.dashboard.frame import dashboard, refused
from hushpoll_server.dashboard.people import administration, signing

VIEWS: Final = (
    signing,
    surveys,
    collecting,
    estimates,
    cross_tables,
    comparison,
    queries,
    weighting,
    regressions,
    models,
    fairness,
    quality,
    reporting,
    curves,
    jobs,
    drafts,
    administration,
)

__all__ = ["VIEWS", "dashboard", "refused"]
