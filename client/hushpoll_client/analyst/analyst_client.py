"""The analyst's side of the API: publish, list, close, tokens, estimates, export, bulk upload.

It needs the base install only. Answers are returned as the server's JSON; published manifests are
checked like on a device.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from hushpoll_client.analyst.jobs import TIMEOUT_SECONDS, OnLook, wait_for
from hushpoll_client.config import ClientConfig, Endpoint
from hushpoll_client.delivery.transport import Answer, Transport
from hushpoll_protocols.errors import InvalidParameter, ManifestRefused, TransportError
from hushpoll_shared.spelling.canonical import canonical_json
from hushpoll_shared.spelling.text import check_name, show
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.reports import JSON_MEDIA_TYPE, REPORTS_MEDIA_TYPE, check_digest

if TYPE_CHECKING:
    import requests

    from hushpoll_client.delivery.timing import Pacing

_JOB_ID = re.compile("[0-9A-Za-z_-]{1,64}")

# Estimates of many large domains are longer than anything a device reads.
_CONFIG = ClientConfig(max_response_bytes=2**28, read_timeout=120.0, exchange_timeout=600.0)


@dataclass(frozen=True, slots=True)
class BulkReceipt:
    """The server's account of one batch.

    Attributes
    ----------
    accepted, duplicate : int
        Reports that were new, and that were there before.
    rejected : tuple of mapping
        Per refused report: ``index`` in the batch, ``code`` of the problem table, ``field``.
    """

    accepted: int
    duplicate: int
    rejected: tuple[Mapping[str, Any], ...]


class AnalystClient:
    """Bearer-token access to a server.

    Parameters
    ----------
    url : str
        Address of the server; https, or http for this machine alone.
    token : str or None
        Bearer token with the scopes that the calls need.
    config : ClientConfig
        Timeouts, retries, largest answer.
    session : requests.Session or None
        Session to send with; the caller closes it.
    pacing : Pacing or None
        Source of time and jitter, for tests.

    Raises
    ------
    InvalidParameter
        If the address or the token cannot be used.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        config: ClientConfig = _CONFIG,
        session: requests.Session | None = None,
        pacing: Pacing | None = None,
    ) -> None:
        self._transport = Transport(
            Endpoint.parse(url), token=token, config=config, session=session, pacing=pacing
        )

    def __repr__(self) -> str:
        return f"AnalystClient({self._transport.endpoint.base!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_connections()

    def close_connections(self) -> None:
        """Close the client's own connections."""
        self._transport.close()

    def publish(self, manifest: Mapping[str, Any], *, allow_weak: bool = False) -> dict[str, Any]:
        """Publish a draft.

        Parameters
        ----------
        manifest : mapping
            The draft.
        allow_weak : bool
            Publish although the survey hardly protects its respondents: an epsilon above 8 for a
            question, or above 16 in all.

        Returns
        -------
        dict
            ``name``, ``version``, ``digest``, ``warnings`` and the published ``manifest``.

        Raises
        ------
        InvalidParameter, ManifestRefused
            If the draft is refused, naming the field.
        TransportError
            If the version exists with other content, the survey hardly protects, the token does not
            allow it, or no answer came.
        """
        params = {"allow_weak": "true"} if allow_weak else None
        return self._post(manifest, "surveys", params=params)

    def surveys(self) -> list[dict[str, Any]]:
        """List all versions of all surveys."""
        return _items(self._transport.get("surveys"), "surveys")

    def show(self, name: str, version: int | None = None) -> Published:
        """Fetch a published survey and check it; the newest version unless one is given."""
        path = ["surveys", check_name(name, field="survey")]
        if version is not None:
            path += ["versions", str(version)]
        published = Published.from_json(self._transport.get(*path, token=False).body)
        if published.name != name or version not in (None, published.version):
            raise ManifestRefused(
                f"the server answered with survey {published.name!r} version {published.version} "
                "for "
                f"{name!r}; check its address",
                field="name",
            )
        return published

    def close(self, name: str, version: int, *, grace_seconds: int | None = None) -> dict[str, Any]:
        """Close a version.

        Parameters
        ----------
        name, version
            Which.
        grace_seconds : int or None
            For how long reports of offline devices are still taken, at least 0; the server's
            setting by default.
        """
        body = {} if grace_seconds is None else {"grace_seconds": grace_seconds}
        return self._post(body, *_version(name, version), "close")

    def origins(self, name: str) -> list[str]:
        """List the web origins whose pages may answer a survey."""
        path = ("surveys", check_name(name, field="survey"), "origins")
        return _items(self._transport.get(*path), "origins")

    def set_origins(self, name: str, origins: Sequence[str]) -> list[str]:
        """Let pages of these web origins, and of no others, answer a survey in all its versions.

        Parameters
        ----------
        name : str
            The survey.
        origins : sequence of str
            As browsers send them, such as ``https://survey.example.org``; none: no page may.

        Returns
        -------
        list of str
            What holds now.
        """
        answer = self._transport.put(
            "surveys",
            check_name(name, field="survey"),
            "origins",
            body=canonical_json({"origins": list(origins)}),
            media_type=JSON_MEDIA_TYPE,
        )
        return _items(answer, "origins")

    def mint_tokens(self, name: str, count: int) -> list[str]:
        """Make single-use respondent tokens for a token survey. Not retried."""
        answer = self._transport.post(
            "surveys",
            check_name(name, field="survey"),
            "tokens",
            body=canonical_json({"count": count}),
            media_type=JSON_MEDIA_TYPE,
            retry=False,
        )
        return _items(answer, "tokens")

    def issue_token(
        self, scopes: Sequence[str], *, label: str = "", expires_in: int | None = None
    ) -> dict[str, Any]:
        """Issue a bearer token; needs scope ``admin``. Not retried.

        Parameters
        ----------
        scopes : sequence of str
            Out of ``submit``, ``publish``, ``read``, ``train``, ``admin``.
        label : str
            What it is for, at most 200 characters.
        expires_in : int or None
            Seconds in [1, 315360000]; None never expires.

        Returns
        -------
        dict
            ``token`` (shown this once), ``id``, ``scopes`` and, if it expires, ``expires_at``.
        """
        body: dict[str, Any] = {"scopes": list(scopes), "label": label}
        if expires_in is not None:
            body["expires_in"] = expires_in
        return self._post_once(body, "tokens")

    def tokens(self) -> list[dict[str, Any]]:
        """List all bearer tokens without their secrets; needs scope ``admin``."""
        return _items(self._transport.get("tokens"), "tokens")

    def rotate_token(
        self, token_id: str, *, overlap_seconds: int | None = None, expires_in: int | None = None
    ) -> dict[str, Any]:
        """Replace a bearer token by one with the same scopes and label. Not retried.

        Parameters
        ----------
        token_id : str
            Public id, the middle part of the token.
        overlap_seconds : int or None
            For how long the old token stays valid, in [0, 2592000]; a day by default.
        expires_in : int or None
            Seconds after which the new token expires; by default when the old one would have.

        Returns
        -------
        dict
            As `issue_token`, and ``replaces`` and ``replaced_until``.
        """
        given = {"overlap_seconds": overlap_seconds, "expires_in": expires_in}
        body = {key: value for key, value in given.items() if value is not None}
        return self._post_once(body, "tokens", token_id, "rotate")

    def revoke_token(self, token_id: str) -> None:
        """Refuse a bearer token from now on; revoking it again changes nothing."""
        self._transport.delete("tokens", token_id)

    def estimates(self, name: str, version: int) -> dict[str, Any]:
        """Fetch estimates of every attribute's categories."""
        return _object(self._transport.get(*_version(name, version), "estimates"))

    def counts(self, name: str, version: int) -> dict[str, Any]:
        """Fetch how many reports a version has taken, known already, and refused by reason."""
        return _object(self._transport.get(*_version(name, version), "counts"))

    def cross_table(self, name: str, version: int, a: str, b: str) -> dict[str, Any]:
        """Fetch the joint frequencies of two attributes."""
        path = (*_version(name, version), "cross-tables")
        return _object(self._transport.get(*path, params={"a": a, "b": b}))

    def export(
        self,
        name: str,
        version: int,
        write: Callable[[bytes], object],
        *,
        format: str = "records",
        content: str = "records",
        raw: bool = False,
    ) -> int:
        """Fetch a file of records piece by piece.

        Parameters
        ----------
        name, version
            Which.
        write : callable
            Called with each piece of bytes, such as a file's ``write``.
        format : str
            ``records``, the file that carries its own manifest; ``parquet``; ``csv``.
        content : str
            Of a table: ``records``, what was reported; ``indicators``, a 0/1 column for each
            category; ``debiased``, the same unbiased.
        raw : bool
            Of CSV: whether texts that a spreadsheet would take for formulas are left as they are.

        Returns
        -------
        int
            Bytes received.
        """
        params = {"format": format, "content": content} | ({"raw": "true"} if raw else {})
        return self._transport.download(
            *_version(name, version), "records", write=write, params=params
        )

    def start_job(
        self, kind: str, name: str, version: int, parameters: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Ask a worker of the server for something that takes long.

        Parameters
        ----------
        kind : str
            ``fold`` needs the scope ``publish``; ``export`` and ``shape`` need ``read``, ``train``
            and ``fairness`` need ``train``.
        name, version
            The survey's version.
        parameters : mapping or None
            Of the job; docs/reference/openapi.json lists them.

        Returns
        -------
        dict
            The job: ``id``, ``state`` and more.
        """
        return self._post_once(parameters or {}, *_version(name, version), "jobs", kind)

    def job(self, job_id: str) -> dict[str, Any]:
        """Look at a job; needs scope ``read``."""
        return _object(self._transport.get("jobs", _job_id(job_id)))

    def cancel_job(self, job_id: str) -> dict[str, Any]:
        """End a job that waits or runs, and return it; one that has ended stays as it is.

        Needs the token that asked for it, or scope ``admin``.
        """
        return self._post({}, "jobs", _job_id(job_id), "cancel")

    def job_result(self, job_id: str, write: Callable[[bytes], object]) -> int:
        """Fetch the file that a job made, piece by piece; return its bytes."""
        return self._transport.download("jobs", _job_id(job_id), "result", write=write)

    def fairness(
        self,
        name: str,
        version: int,
        *,
        folds: int | None = None,
        seed: int | None = None,
        parameters: Mapping[str, float] | None = None,
        protected_input: str | None = None,
        encoding: str | None = None,
        groups: str | None = None,
        reference: str | None = None,
        confidence: float | None = None,
        expected: Mapping[str, float] | None = None,
        timeout: float = TIMEOUT_SECONDS,
        on_look: OnLook | None = None,
    ) -> dict[str, Any]:
        """Have a survey's group fairness estimated from its records alone, by a worker.

        What is None is the server's default. Needs the scopes ``train`` and ``read``.

        Parameters
        ----------
        name, version
            Which.
        folds, seed
            Parts to cross-fit, at least 2; of the folds and the learner, in [0, 2^31).
        parameters : mapping, optional
            LightGBM's.
        protected_input : str, optional
            ``dropped`` or ``each-value``.
        encoding : str, optional
            ``indicator`` or ``posterior``.
        groups, reference : str, optional
            An attribute whose categories are compared with one of them, in place of the two groups
            of the manifest.
        confidence : float, optional
            Of the intervals, in [0.01, 0.999].
        expected : mapping, optional
            ``unprivileged``, ``positive`` and ``base``, shares in (0, 1) that were declared or
            found earlier: what a survey of this size can find is said for them.
        timeout : float
            Seconds to wait.
        on_look : callable, optional
            Told the job at every look at it.

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
        given: dict[str, Any] = {
            "folds": folds,
            "seed": seed,
            "parameters": parameters,
            "protected_input": protected_input,
            "encoding": encoding,
            "groups": groups,
            "reference": reference,
            "confidence": confidence,
            "expected": expected,
        }
        return self._document("fairness", name, version, given, "metrics", timeout, on_look)

    def report_shape(
        self,
        name: str,
        version: int,
        *,
        alpha: float | None = None,
        timeout: float = TIMEOUT_SECONDS,
        on_look: OnLook | None = None,
    ) -> dict[str, Any]:
        """Have a worker test whether a survey's reports look like those that devices make.

        Parameters
        ----------
        name, version
            Which.
        alpha : float, optional
            Chance, at most, that a survey without a fake is flagged, in [1e-9, 0.5]; 0.01 by
            default.
        timeout, on_look
            See :meth:`fairness`.

        Returns
        -------
        dict
            ``flagged``, ``p_value`` and ``attributes``, each with its p-value and what deviates.

        Raises
        ------
        TransportError, JobFailed
            See :meth:`fairness`.
        """
        return self._document(
            "shape", name, version, {"alpha": alpha}, "attributes", timeout, on_look
        )

    def delete_records(self, name: str, version: int) -> dict[str, Any]:
        """Delete the records of a version that is over, for good; its estimates stay.

        Returns
        -------
        dict
            ``deleted``, how many, and ``deleted_at``.
        """
        return _object(self._transport.delete(*_version(name, version), "records"))

    def submit_bulk(self, name: str, body: bytes) -> BulkReceipt:
        """Upload one batch, the same bytes again until it is acknowledged or refused.

        Parameters
        ----------
        name : str
            The survey.
        body : bytes
            What `hushpoll_shared.wire.reports.pack_reports` or
            `hushpoll_shared.wire.batch.pack_rows` made.
        """
        answer = _object(
            self._transport.post(
                "surveys",
                check_name(name, field="survey"),
                "reports",
                body=body,
                media_type=REPORTS_MEDIA_TYPE,
            )
        )
        accepted, duplicate, rejected = (
            answer.get(key) for key in ("accepted", "duplicate", "rejected")
        )
        if not (type(accepted) is type(duplicate) is int and isinstance(rejected, list)):
            raise _unexpected("accepted, duplicate and rejected")
        if not all(isinstance(one, dict) for one in rejected):
            raise _unexpected("objects in rejected")
        return BulkReceipt(accepted, duplicate, tuple(rejected))

    def find(self, digest: str) -> dict[str, Any] | None:
        """Return the list's entry of the version with this digest, or None."""
        check_digest(digest)
        return next((item for item in self.surveys() if item.get("digest") == digest), None)

    def _document(
        self,
        kind: str,
        name: str,
        version: int,
        given: Mapping[str, Any],
        key: str,
        timeout: float,
        on_look: OnLook | None,
    ) -> dict[str, Any]:
        """Return the JSON that a job makes; it has one list or object, `key` or ``groups``."""
        parameters = {one: value for one, value in given.items() if value is not None}
        job = self.start_job(kind, name, version, parameters)
        job = wait_for(self.job, job, timeout=timeout, on_look=on_look)
        found = _object(self._transport.get("jobs", _job_id(job.get("id")), "result"))
        if not isinstance(found.get(key, found.get("groups")), dict | list):
            raise _unexpected(key)
        return found

    def _post_once(self, document: Mapping[str, Any], *path: str) -> dict[str, Any]:
        # What makes a secret is not sent again: an answer that was lost has made one already.
        body = canonical_json(document)
        return _object(
            self._transport.post(*path, body=body, media_type=JSON_MEDIA_TYPE, retry=False)
        )

    def _post(
        self, document: Mapping[str, Any], *path: str, params: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        # Publishing and closing again change nothing, so both may be repeated.
        body = canonical_json(document)
        return _object(
            self._transport.post(*path, body=body, media_type=JSON_MEDIA_TYPE, params=params)
        )


def _version(name: str, version: int) -> Iterable[str]:
    return ("surveys", check_name(name, field="survey"), "versions", str(version))


def _job_id(value: object) -> str:
    if not isinstance(value, str) or not _JOB_ID.fullmatch(value):
        raise InvalidParameter(
            f"the job's id is {show(value)}; an id is 1 to 64 letters, digits, '_' and '-': give "
            "one that a server of hushpoll gave",
            field="id",
        )
    return value


def _object(answer: Answer) -> dict[str, Any]:
    document = answer.json()
    if not isinstance(document, dict):
        raise _unexpected("an object")
    return document


def _items(answer: Answer, key: str) -> list[Any]:
    items = _object(answer).get(key)
    if not isinstance(items, list):
        raise _unexpected(key)
    return items


def _unexpected(what: str) -> TransportError:
    return TransportError(
        f"the server's answer has no {what}; check that the address is a hushpoll server's and "
        "that "
        "both sides have the same version",
        retryable=False,
    )
