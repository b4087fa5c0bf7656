"""Models, audits and regressions that a server keeps until they are deleted.

Each has the id of the job that made it.
"""

from __future__ import annotations

from collections.abc import Callable

from hushpoll_client.analyst.calls import Calls, object_of, unexpected_answer, version_path
from hushpoll_client.analyst.jobs import checked_job_id
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.wire.documents.kept_results import (
    AuditEntry,
    LearnerList,
    RegressionEntry,
    Run,
)


class KeptResultCalls(Calls):
    """Lists and deletes models, audits and regressions, and fetches models."""

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
        self._delete("audits", checked_job_id(audit_id))

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
        self._delete("regressions", checked_job_id(regression_id))

    def models(self, name: str, version: int) -> list[Run]:
        """Return the newest 200 trainings of a survey's version; needs scope ``read``.

        Returns
        -------
        list of dict
            ``job``, and ``model`` where it is done: learner, encoding, parameters, privacy,
            ``protections``, and ``on_records`` where the training was asked for with ``folds``.
        """
        return self._listed(Run, "runs", *version_path(name, version), "models")

    def learners(self, name: str, version: int) -> LearnerList:
        """Return what may be trained on a version's records; needs scope ``read``.

        Returns
        -------
        dict
            ``target``, or ``reason`` for having none; ``encodings``; ``learners``, each with
            ``parameters`` and their intervals, or the ``reason`` why it cannot run on the server.
        """
        return self._fetched(LearnerList, *version_path(name, version), "learners")

    def model_card(self, model_id: str) -> JsonMembers:
        """Return a model's card; needs scope ``read``."""
        card = object_of(self._transport.get("models", checked_job_id(model_id))).get("card")
        if not isinstance(card, dict):
            raise unexpected_answer("card")
        return card

    def model_file(self, model_id: str, write: Callable[[bytes], object]) -> int:
        """Fetch a model, a ZIP, piece by piece; return its number of bytes; needs ``read``."""
        return self._transport.download("models", checked_job_id(model_id), "file", write=write)

    def delete_model(self, model_id: str) -> None:
        """Delete a training that has ended, with its model.

        Needs scope ``train`` and the token that asked for it, or scope ``admin``.
        """
        self._delete("models", checked_job_id(model_id))
