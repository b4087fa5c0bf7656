"""Regressions that a server keeps."""

from __future__ import annotations

from typing import Any

from hushpoll_client.analyst.calls import Calls, list_in, object_of, version_path
from hushpoll_client.analyst.jobs import checked_job_id


class RegressionCalls(Calls):
    """Lists and deletes regressions. A regression has the id of the job that made it."""

    def regressions(self, name: str, version: int) -> list[dict[str, Any]]:
        """Return the newest 200 regressions of a survey's version; needs scope ``read``.

        Returns
        -------
        list of dict
            ``job``, and ``regression`` where it is done: its formula, its verdict, and what the
            slopes say. The job's result says all.
        """
        return list_in(
            object_of(self._transport.get(*version_path(name, version), "regressions")),
            "regressions",
        )

    def delete_regression(self, regression_id: str) -> None:
        """Delete a regression that has ended, with its result.

        Needs scope ``read`` and the token that asked for it, or scope ``admin``.
        """
        self._transport.delete("regressions", checked_job_id(regression_id))
