"""Audits of fairness that a server keeps."""

from __future__ import annotations

from hushpoll_client.analyst.calls import Calls, version_path
from hushpoll_client.analyst.jobs import checked_job_id
from hushpoll_shared.wire.documents import AuditEntry


class AuditCalls(Calls):
    """Lists and deletes audits. An audit has the id of the job ``fairness`` that made it."""

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
