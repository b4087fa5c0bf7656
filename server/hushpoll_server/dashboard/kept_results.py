"""Kept results on the dashboard: how a user deletes one, of whatever kind."""

from __future__ import annotations

from typing import Final

from flask import Response, url_for

from hushpoll_server.dashboard.frame import member, see
from hushpoll_server.dashboard.surveys import reached
from hushpoll_server.services.people.roles import Role
from hushpoll_server.services.results.kept_results import KeptResults
from hushpoll_server.services.surveys.access import Grant

ROLES: Final = {"read": Role.READER, "train": Role.ANALYST}
"""Who may ask for a kept result and delete their own, by the scope that a token needs for it."""


def delete_result(
    results: KeptResults, name: str, version: int, job_id: str, *, page: str
) -> Response:
    """Delete one that has ended: the user's own, or any if the user is an admin of the survey.

    Parameters
    ----------
    results : KeptResults
        Of its kind.
    name, version, job_id
        The survey's version, and the result's id.
    page : str
        The view that lists them, to which the user is led.
    """
    row = reached(name, version, ROLES[results.scope])
    job = results.of_version(row, job_id)
    scope = "admin" if member().may(row.name, Role.ADMIN) else results.scope
    results.delete(job, Grant(member().id, frozenset({scope})), actor=member().actor)
    return see(url_for(f"dashboard.{page}", name=name, version=version))
