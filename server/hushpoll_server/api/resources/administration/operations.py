"""How the server does: load, sealing, disk and jobs, for those who operate it."""

from __future__ import annotations

from typing import Literal

from flask import Response
from pydantic import Field

from hushpoll_server.api.models.common import Answer
from hushpoll_server.api.routes import Routes
from hushpoll_server.http.endpoint import json_answer, services


class OperationsAnswer(Answer):
    """How the server does."""

    version: str = Field(description="Of hushpoll-server.")
    schema_version: str
    database: Literal["sqlite", "postgresql"]
    database_bytes: int = Field(description="Size of the database.")
    disk_free_bytes: int | None = Field(
        None,
        description="Free on the disk of the database's file; absent of PostgreSQL, whose disk "
        "this server does not see.",
    )
    disk_bytes: int | None = Field(description="Size of that disk.")
    reports_waiting: int = Field(description="In all inboxes, not sealed yet.")
    reports_sealed: int = Field(description="In all, those of deleted records too.")
    reports_per_second: float | None = Field(
        None,
        description="Reports that were stored per second, over `measured_seconds`; absent at the "
        "first look.",
    )
    measured_seconds: float = Field(description="At most about 60.")
    seal_lag_seconds: float = Field(
        description="At most this long has the oldest report waited to be sealed, as far as this "
        "process has seen."
    )
    sealing: Literal["server", "worker"] = Field(description="Who seals.")
    overdue_versions: int = Field(
        description="Versions that should have been sealed or released a minute ago."
    )
    queue_reports: int | None = Field(
        None,
        description="Reports that wait for their commit in the ingest processes; absent where "
        "metrics are off.",
    )
    jobs: dict[str, int] = Field(description="Background jobs by state.")
    worker_alive: bool = Field(description="Whether a worker is alive, which takes jobs.")


api = Routes("operations")


@api.operation("GET", "/operations", OperationsAnswer, scope="admin")
def operations() -> Response:
    """Return how the server does as a whole; nothing in it is about one survey."""
    return json_answer(OperationsAnswer(**services().operations.look()))
