"""Kept results on the dashboard: how a user deletes one, of whatever kind."""

from __future__ import annotations

from typing import Any

from flask import Response, url_for

from hushpoll_server.dashboard.frame import member, see
from hushpoll_server.services.people.roles import Role
from hushpoll_server.services.results.kept_results import KeptResults
from hushpoll_server.services.surveys.access import Grant
from hushpoll_server.store.catalogue import VersionRow


def delete_result(
    results: KeptResults[Any], row: VersionRow, job_id: str, *, page: str
) -> Response:
    """Delete one that has ended: the user's own, or any if the user is an admin of the survey."""
    job = results.of_version(row, job_id)
    scope = "admin" if member().may(row.name, Role.ADMIN) else results.job.scope
    results.delete(job, Grant(member().id, frozenset({scope})), actor=member().actor)
    return see(url_for(f"dashboard.{page}", name=row.name, version=row.version))
