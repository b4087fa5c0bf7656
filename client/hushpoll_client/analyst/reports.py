"""A survey's results for others to read: reports, the codebook, what is published for everybody."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hushpoll_client.analyst.calls import Calls, as_document, version_path
from hushpoll_shared.querying.query import Query
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.wire.documents.codebook import CodebookDocument
from hushpoll_shared.wire.documents.results import PublicResultsDocument, PublishedResultsDocument


class ReportCalls(Calls):
    """Fetches reports (scope ``read``), and publishes results (``publish`` and ``read``)."""

    def codebook(self, name: str, version: int) -> CodebookDocument:
        """Fetch every question in every language: how it was sent, and its shares."""
        return self._fetched(CodebookDocument, *version_path(name, version), "codebook")

    def codebook_file(
        self, name: str, version: int, write: Callable[[bytes], object], *, format: str = "html"
    ) -> int:
        """Fetch the codebook piece by piece as a file, ``html``, ``md`` or ``json``.

        Returns
        -------
        int
            Bytes received.
        """
        path = (*version_path(name, version), "codebook")
        return self._transport.download(*path, write=write, params={"format": format})

    def report(
        self,
        name: str,
        version: int,
        write: Callable[[bytes], object],
        *,
        format: str = "html",
        attributes: Sequence[str] = (),
        cross_tables: Sequence[Sequence[str]] = (),
        estimator: str | None = None,
        confidence: float | None = None,
        fairness: bool = True,
        results: Sequence[Query[Any]] = (),
        regressions: Sequence[str] = (),
        language: str | None = None,
        trend: bool = False,
    ) -> int:
        """Fetch a report of the last release piece by piece.

        Parameters
        ----------
        write : callable
            Called with each piece of bytes, such as a file's ``write``.
        format : str
            ``html``, ``pdf`` or ``bundle``.
        attributes : sequence of str
            The questions that are shown; by default all.
        cross_tables : sequence of (str, str)
            Pairs of attributes.
        estimator : str, optional
            ``unbiased``, ``projected`` or ``shrunk``; by default the first, which has intervals.
        confidence : float, optional
            Of the intervals, in [0.01, 0.999999]; the server's default is 0.95.
        fairness : bool
            Whether finished audits are shown.
        results : sequence of Query
            What else is shown; none that compares two versions.
        regressions : sequence of str
            Ids of kept regressions that are shown.
        language : str, optional
            Of its words, such as ``de``; by default English.
        trend : bool
            Whether questions are shown beside earlier versions that ask them with the same answers.

        Returns
        -------
        int
            Bytes received.
        """
        params = {
            "format": format,
            "attributes": ",".join(attributes) or None,
            "cross": ",".join(":".join(pair) for pair in cross_tables) or None,
            "estimator": estimator,
            "confidence": None if confidence is None else str(confidence),
            "fairness": "true" if fairness else "false",
            "results": ",".join(query.address() for query in results) or None,
            "regressions": ",".join(regressions) or None,
            "language": language,
            "trend": "true" if trend else None,
        }
        used = {field: value for field, value in params.items() if value is not None}
        path = (*version_path(name, version), "report")
        return self._transport.download(*path, write=write, params=used)

    def publish_results(
        self,
        name: str,
        version: int,
        *,
        attributes: Sequence[str] = (),
        cross_tables: Sequence[Sequence[str]] = (),
        estimator: str = "unbiased",
        confidence: float = 0.95,
        fairness: bool = True,
        so_far: bool = False,
        trend: bool = False,
    ) -> PublishedResultsDocument:
        """Publish results of a version for everybody.

        Parameters
        ----------
        name, version, attributes, cross_tables, estimator, confidence, fairness
            As `report` has them.
        so_far : bool
            Whether the version may still run; of one that does, all that is shown is randomised.
            Otherwise it is closed.

        Returns
        -------
        dict
            ``address``, the path of the public page; ``published_at``; what is shown;
            ``warnings``, sentences about groups in clear that were merged or left out.
        """
        document: JsonMembers = {
            "attributes": list(attributes),
            "cross_tables": [list(pair) for pair in cross_tables],
            "estimator": estimator,
            "confidence": confidence,
            "fairness": fairness,
            **({"trend": True} if trend else {}),
        }
        if so_far:  # a server of an earlier release does not know it
            document["so_far"] = True
        # Publishing once more would make a second publication of the same.
        path = (*version_path(name, version), "public-results")
        return as_document(PublishedResultsDocument, self._post(document, *path, retry=False))

    def public_results(self, name: str, version: int) -> list[PublicResultsDocument]:
        """List the publications of a version, also those that were taken back."""
        path = (*version_path(name, version), "public-results")
        return self._listed(PublicResultsDocument, "publications", *path)

    def take_results_back(self, name: str, version: int) -> None:
        """Take published results back: their address answers 410 from then on."""
        self._delete(*version_path(name, version), "public-results")
