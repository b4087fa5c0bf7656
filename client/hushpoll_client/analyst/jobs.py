"""Background jobs of a server's workers: start one, wait for it, fetch its result."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from hushpoll_client.analyst.calls import (
    Calls,
    as_document,
    object_of,
    survey_and_parameters,
    unexpected_answer,
    version_path,
)
from hushpoll_protocols.errors import HushpollError, InvalidParameter, TransportError
from hushpoll_shared.jobs.registry import all_jobs
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject, JsonValue
from hushpoll_shared.spelling.text import printable, show
from hushpoll_shared.wire.documents.audits import AuditDocument
from hushpoll_shared.wire.documents.jobs import JobDocument, MailsSent

if TYPE_CHECKING:
    from hushpoll_shared.reading.people import Person

PAUSE_SECONDS: Final = 0.5
TIMEOUT_SECONDS: Final = 600.0
_JOB_ID: Final = re.compile("[0-9A-Za-z_-]{1,64}")
_ENDED: Final = frozenset({"done", "failed", "cancelled"})

OnLook: TypeAlias = Callable[[JobDocument], object]
"""Called with the job at every look at it."""


class JobFailed(HushpollError):
    """A job that ended without a result, or has not ended in time."""


def wait_for(
    look: Callable[[str], JobDocument],
    job: JobDocument,
    *,
    timeout: float = TIMEOUT_SECONDS,
    on_look: OnLook | None = None,
) -> JobDocument:
    """Look at a job by `look`, such as ``AnalystClient.job``, until it is done, and return it.

    `on_look` is called with the job each time. Raises `JobFailed` if it has failed, with the
    server's reason, was cancelled, or has not ended within `timeout` seconds (it then goes on), and
    `TransportError` if the server refuses to tell, or is away when time is up.
    """
    end = time.monotonic() + timeout
    while job.get("state") not in _ENDED:
        if on_look is not None:
            on_look(job)
        if time.monotonic() >= end:
            why = f". {show_hint(job)}" if show_hint(job) else ""
            raise JobFailed(
                f"job {job.get('id')} is {job.get('state')} after {timeout:g} s; it goes on: "
                f"see hushpoll job show {job.get('id')}{why}"
            )
        time.sleep(PAUSE_SECONDS)
        try:
            job = look(str(job.get("id")))
        except TransportError as error:
            # The job is the worker's: a server that is restarted meanwhile does not end it.
            if not error.retryable or time.monotonic() >= end:
                raise
    if job["state"] == "failed":
        reason: Mapping[str, object] = job.get("error") or {}
        detail, code = reason.get("detail"), reason.get("code")
        raise JobFailed(f"job {job.get('id')} failed: {detail} ({code})")
    if job["state"] == "cancelled":
        raise JobFailed(f"job {job.get('id')} was cancelled; start it again if you still want it")
    return job


def show_hint(job: JobDocument) -> str:
    """Return what a server says of a job that nothing takes now, as one printable line."""
    hint = job.get("hint")
    return " ".join(printable(hint)[:400].split()) if isinstance(hint, str) else ""


def how_far(job: JobDocument) -> str:
    """Return a job's state, and how far it is where the server tells, in words."""
    words, progress = str(job.get("state")), job.get("progress")
    if job.get("worker_alive") is False:
        words += ", its worker is silent"
    if show_hint(job):
        words += f": {show_hint(job)}"
    if not isinstance(progress, Mapping):
        return words
    done, total, unit = (progress.get(name) for name in ("done", "total", "unit"))
    words += f": {progress.get('text')}"
    return words if total is None else f"{words}, {done:,} of {total:,} {unit}"


def _texts(texts: Mapping[str, JsonObject] | None) -> JsonMembers:
    return {} if texts is None else {"texts": dict(texts)}


class JobCalls(Calls):
    """Starts jobs, looks at them and fetches their results."""

    def start_job(
        self, kind: str, name: str, version: int, parameters: JsonObject | None = None
    ) -> JobDocument:
        """Ask a worker of the server for a job, and do not wait for it.

        Parameters
        ----------
        kind : str
            One of ``hushpoll_shared.jobs``, which says the scope that each needs.
        name, version
            The survey's version.
        parameters : mapping or None
            Of the job; docs/reference/openapi.json lists them.

        Returns
        -------
        dict
            The job: ``id``, ``state`` and more.
        """
        path = (*version_path(name, version), "jobs", kind)
        return as_document(JobDocument, self._post(parameters or {}, *path, retry=False))

    def invite_people(
        self,
        name: str,
        version: int,
        people: Sequence[Person],
        texts: Mapping[str, JsonObject] | None = None,
    ) -> JobDocument:
        """Ask for a job that invites people by mail; needs scope ``publish``. Not retried.

        Parameters
        ----------
        name, version
            A version with submission ``invited``.
        people : sequence of Person
            As ``hushpoll_shared.reading.people.read_people`` reads them.
        texts : mapping or None
            By language ``subject`` and ``body`` with ``{link}``; None sends the server's own.
        """
        people_documents: list[JsonValue] = [dict(person.to_dict()) for person in people]
        body: JsonMembers = {"people": people_documents}
        return self.start_job("invite", name, version, {**body, **_texts(texts)})

    def remind_people(
        self, name: str, version: int, texts: Mapping[str, JsonObject] | None = None
    ) -> JobDocument:
        """Ask for a job that reminds by mail those whose invitation is not redeemed.

        Nobody knows who of them has answered. As ``invite_people``.
        """
        return self.start_job("remind", name, version, _texts(texts))

    def mails_sent(self, job_id: str) -> MailsSent:
        """Return what became of the mails of a job that is done; needs scope ``read``."""
        content = bytearray()
        self.job_result(job_id, content.extend)
        try:
            document: object = json.loads(content)
        except (ValueError, RecursionError):
            raise unexpected_answer("numbers of mails") from None
        if not isinstance(document, dict):
            raise unexpected_answer("numbers of mails")
        return as_document(MailsSent, document)

    def job(self, job_id: str) -> JobDocument:
        """Look at a job; needs scope ``read``."""
        return self._fetched(JobDocument, "jobs", checked_job_id(job_id))

    def jobs(
        self, *, survey: str | None = None, kind: str | None = None, state: str | None = None
    ) -> list[JobDocument]:
        """Return the newest 200 jobs of the token's surveys, the newest first; needs ``read``.

        Parameters
        ----------
        survey, kind, state : str, optional
            Only those of one survey, of one of ``hushpoll_shared.jobs``, or in one of the
            states ``queued``, ``running``, ``done``, ``failed`` and ``cancelled``.
        """
        wanted = {"survey": survey, "kind": kind, "state": state}
        params = {name: value for name, value in wanted.items() if value is not None}
        return self._listed(JobDocument, "jobs", "jobs", params=params)

    def cancel_job(self, job_id: str) -> JobDocument:
        """End a job that waits or runs, and return it; one that has ended stays as it is.

        Needs the token that asked for it, or scope ``admin``.
        """
        return as_document(JobDocument, self._post({}, "jobs", checked_job_id(job_id), "cancel"))

    def job_result(
        self, job_id: str, write: Callable[[bytes], object], *, format: str | None = None
    ) -> int:
        """Fetch the file of a job's result, piece by piece; return its number of bytes.

        `format`, ``csv`` or ``xlsx``, gives the table of a joint table, weighted shares,
        dependencies, fairness or shape.
        """
        params = None if format is None else {"format": format}
        path = ("jobs", checked_job_id(job_id), "result")
        return self._transport.download(*path, write=write, params=params)

    def fairness(
        self,
        name: str,
        version: int,
        *,
        folds: int | None = None,
        seed: int | None = None,
        learner: str | None = None,
        parameters: Mapping[str, float | str] | None = None,
        encoding: str | None = None,
        protected_input: str | None = None,
        groups: str | None = None,
        reference: str | None = None,
        confidence: float | None = None,
        expected: Mapping[str, float] | None = None,
        together: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
        on_look: OnLook | None = None,
    ) -> AuditDocument:
        """Have a survey's group fairness estimated from its records alone, by a worker.

        The server has a default for what is None. Needs the scopes ``train`` and ``read``.

        Parameters
        ----------
        folds, seed
            Parts to cross-fit, at least 2; of the folds and the learner, in [0, 2^31).
        learner, encoding : str, optional
            The training algorithm, and how records become features; the server knows the names.
        parameters : mapping, optional
            The learner's.
        protected_input : str, optional
            ``dropped`` or ``each-value``.
        groups, reference : str, optional
            An attribute whose categories are compared with one of them, in place of the two groups
            of the manifest.
        confidence : float, optional
            Of the intervals, in [0.01, 0.999].
        expected : mapping, optional
            ``unprivileged``, ``positive`` and ``base``, shares in (0, 1) that were declared or
            found earlier: the report says for them what a survey of this size can find.
        together : str, optional
            Of several groups: ``each``, ``simultaneous`` or ``discoveries``.
        timeout : float
            Seconds to wait.
        on_look : callable, optional
            Called with the job at every look at it.

        Returns
        -------
        dict
            The report: ``metrics``, ``rates`` and ``shares``, each number with its interval, None
            where there is no bound, and each metric with its ``conclusion``; with `groups`,
            one of these for each group.

        Raises
        ------
        InvalidParameter
            If the survey cannot be audited, or for a bad argument.
        TransportError
            If there are too few reports, the token does not allow it, or no answer came.
        JobFailed
            If the worker could not do it, or not in time.
        """
        return as_document(AuditDocument, self._document("fairness", locals()))

    def report_shape(
        self,
        name: str,
        version: int,
        *,
        alpha: float | None = None,
        timeout: float = TIMEOUT_SECONDS,
        on_look: OnLook | None = None,
    ) -> JsonMembers:
        """Have a worker test whether a survey's reports look like those that devices make.

        Parameters
        ----------
        alpha : float, optional
            Chance, at most, that a survey without a fake is flagged, in [1e-9, 0.5]; 0.01 by
            default.
        timeout, on_look
            See :meth:`fairness`, also for what is raised.

        Returns
        -------
        dict
            ``flagged``, ``p_value`` and ``attributes``, each with its p-value and what deviates.
        """
        return self._document("shape", locals())

    def joint_table(
        self,
        name: str,
        version: int,
        attributes: Sequence[str],
        *,
        confidence: float | None = None,
        likelihood: bool | None = None,
        timeout: float = TIMEOUT_SECONDS,
        on_look: OnLook | None = None,
    ) -> JsonMembers:
        """Have a worker estimate the joint table of two or three attributes; needs ``read``.

        Parameters
        ----------
        attributes : sequence of str
            Two or three different ones.
        confidence : float, optional
            Of the intervals of the unbiased shares, in [0.01, 0.999999].
        likelihood : bool, optional
            Whether shares by maximum likelihood, which have no interval, stand beside them.
        timeout, on_look
            See :meth:`fairness`, also for what is raised.

        Returns
        -------
        dict
            ``verdict``, ``cells``, each with its ``categories``, and ``likelihood``, which says
            how near the maximum it is.
        """
        attributes = list(attributes)
        return self._document("table", locals())

    def weighted_shares_of_several(
        self,
        name: str,
        version: int,
        attributes: Sequence[str],
        design: JsonObject | None = None,
        *,
        confidence: float | None = None,
        timeout: float = TIMEOUT_SECONDS,
        on_look: OnLook | None = None,
    ) -> JsonMembers:
        """Have a worker estimate the weighted shares of several attributes; needs ``read``.

        Parameters
        ----------
        attributes : sequence of str
            One to 64 different ones.
        design, confidence
            See ``AnalystClient.weighted_shares``.
        timeout, on_look
            See :meth:`fairness`, also for what is raised.

        Returns
        -------
        dict
            ``attributes``: a list with the weighted shares of each.
        """
        attributes, design = list(attributes), dict(design or {})
        return self._document("weight", locals())

    def regression(
        self,
        name: str,
        version: int,
        formula: str,
        *,
        family: str | None = None,
        saturated: bool = False,
        robust: bool = False,
        estimator: str | None = None,
        confidence: float | None = None,
        at: Mapping[str, str] | None = None,
        for_readers: bool = False,
        timeout: float = TIMEOUT_SECONDS,
        on_look: OnLook | None = None,
    ) -> JsonMembers:
        """Have a worker fit a regression of one attribute on others; needs the scope ``read``.

        Parameters
        ----------
        formula : str
            ``outcome ~ terms``, such as ``income ~ gender + C(region, ref='north')``.
        family : str, optional
            ``logit``, ``multinomial``, ``ordered`` or ``linear``; by default that of the outcome.
        saturated : bool
            Whether each combination of values in clear has its own chances of the perturbed
            predictors.
        robust : bool
            Whether standard errors come from the sandwich.
        estimator : str, optional
            ``likelihood``: its maximum; ``reduced``: that less its first-order bias; by default the
            second if a question is randomised.
        confidence : float, optional
            Of the intervals.
        at : mapping of str to str, optional
            By predictor, the value that all respondents have in a prediction.
        for_readers : bool
            Whether it keeps to the groups in clear that users of the dashboard without the right to
            export may see, who then see it.
        timeout, on_look
            See :meth:`fairness`, also for what is raised.

        Returns
        -------
        dict
            ``coefficients`` and more, as ``hushpoll records regress --json`` gives them.
        """
        at = dict(at) if at else None
        return self._document("regress", {**locals(), "for_readers": for_readers or None})

    def _document(self, kind: str, arguments: Mapping[str, object]) -> JsonMembers:
        """Return the JSON that a job makes; the server has a default for what is None.

        `arguments` are those of the method that asks: its survey, how long it waits, and the job's
        parameters.
        """
        name, version, given = survey_and_parameters(arguments)
        timeout = cast("float", given.pop("timeout"))
        on_look = cast("OnLook | None", given.pop("on_look"))
        parameters = {field: value for field, value in given.items() if value is not None}
        job = self.start_job(kind, name, version, cast("JsonMembers", parameters))
        job = wait_for(self.job, job, timeout=timeout, on_look=on_look)
        document = object_of(self._transport.get("jobs", checked_job_id(job.get("id")), "result"))
        rows = all_jobs()[kind].rows
        # an audit of several groups has one for each
        if not isinstance(document.get(rows, document.get("groups")), dict | list):
            raise unexpected_answer(rows)
        return document


def checked_job_id(value: object) -> str:
    """Return the id of a job, or of the model that it has trained; refuses what can be none."""
    if not isinstance(value, str) or not _JOB_ID.fullmatch(value):
        raise InvalidParameter(
            f"the job's id is {show(value)}; an id is 1 to 64 letters, digits, '_' and '-': give "
            "one that a server of hushpoll gave",
            field="id",
        )
    return value
