"""Audits and regressions that a server keeps until they are deleted; each has its job's id."""

from __future__ import annotations

from hushpoll_client.analyst.calls import Calls, version_path
from hushpoll_client.analyst.jobs import checked_job_id
from hushpoll_shared.wire.documents import AuditEntry
from hushpoll_shared.wire.regression_documents import RegressionEntry


class KeptResultCalls(Calls):
    """Lists and deletes audits and regressions."""

    def audits(self, name: str, version: int) -> list[AuditEntry]:
        """Return the newest 200 audits of a survey's version; needs scope ``read``.

        Returns
        -------
        list of dict
            ``job``, and ``audit`` where it is done: its groups, and what it found. The job's result
            says all.
        """
        return self._listed(AuditEntry, "audits", *version_path(name, version), "audits")

    def delete_audit(self, audit_id: str) -> None:
        """Delete an audit that has ended, with its result.

        Needs scope ``train`` and the token that asked for it, or scope ``admin``.
        """
        self._transport.delete("audits", checked_job_id(audit_id))

    def regressions(self, name: str, version: int) -> list[RegressionEntry]:
        """Return the newest 200 regressions of a survey's version; needs scope ``read``.

        Returns
        -------
        list of dict
            ``job``, and ``regression`` where it is done: its formula, its verdict, and what the
            slopes say. The job's result says all.
        """
        path = version_path(name, version)
        return self._listed(RegressionEntry, "regressions", *path, "regressions")

    def delete_regression(self, regression_id: str) -> None:
        """Delete a regression that has ended, with its result.

        Needs scope ``read`` and the token that asked for it, or scope ``admin``.
        """
        self._transport.delete("regressions", checked_job_id(regression_id))
