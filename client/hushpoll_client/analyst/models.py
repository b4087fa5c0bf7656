"""Models that a server has trained, and the learners that it may train."""

from __future__ import annotations

from collections.abc import Callable

from hushpoll_client.analyst.calls import Calls, object_of, unexpected, version_path
from hushpoll_client.analyst.jobs import checked_job_id
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.wire.documents import LearnersDocument, TrainingRun


class ModelCalls(Calls):
    """Lists, reads, fetches and deletes models. A model has the id of the job that trained it."""

    def models(self, name: str, version: int) -> list[TrainingRun]:
        """Return the newest 200 trainings of a survey's version; needs scope ``read``.

        Returns
        -------
        list of dict
            ``job``, and ``model`` where it is done: learner, encoding, parameters, privacy,
            ``protections``, and ``on_records`` where the training was asked for with ``folds``.
        """
        return self._listed(TrainingRun, "runs", *version_path(name, version), "models")

    def learners(self, name: str, version: int) -> LearnersDocument:
        """Return what may be trained on a version's records; needs scope ``read``.

        Returns
        -------
        dict
            ``target``, or ``reason`` for having none; ``encodings``; ``learners``, each with
            ``parameters`` and their intervals, or the ``reason`` why it cannot run on the server.
        """
        return self._fetched(LearnersDocument, *version_path(name, version), "learners")

    def model_card(self, model_id: str) -> JsonMembers:
        """Return a model's card; needs scope ``read``."""
        found = object_of(self._transport.get("models", checked_job_id(model_id))).get("card")
        if not isinstance(found, dict):
            raise unexpected("card")
        return found

    def model_file(self, model_id: str, write: Callable[[bytes], object]) -> int:
        """Fetch a model, a ZIP, piece by piece; return its number of bytes; needs ``read``."""
        return self._transport.download("models", checked_job_id(model_id), "file", write=write)

    def delete_model(self, model_id: str) -> None:
        """Delete a training that has ended, with its model.

        Needs scope ``train`` and the token that asked for it, or scope ``admin``.
        """
        self._transport.delete("models", checked_job_id(model_id))
