"""Reports uploaded in batches, and what comes out: estimates, cross-tables, counts, records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hushpoll_client.analyst.calls import (
    Calls,
    known,
    object_of,
    survey_path,
    unexpected,
    version_path,
)
from hushpoll_shared.qualifying.domains import Where
from hushpoll_shared.querying.query import Query
from hushpoll_shared.spelling.canonical import canonical_json
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject
from hushpoll_shared.wire.documents import CodebookDocument, CountsDocument, DeletedRecords
from hushpoll_shared.wire.reports import REPORTS_MEDIA_TYPE


@dataclass(frozen=True, slots=True)
class BulkReceipt:
    """The server's account of one batch.

    Attributes
    ----------
    accepted, duplicate : int
        Reports that were new, and those that the server had already.
    rejected : tuple of mapping
        Per refused report: ``index`` in the batch, ``code`` of the problem table, ``field``.
    """

    accepted: int
    duplicate: int
    rejected: tuple[JsonObject, ...]


class ResultCalls(Calls):
    """Uploads batches, fetches results, and deletes records."""

    def submit_bulk(self, name: str, body: bytes) -> BulkReceipt:
        """Upload one batch, the same bytes again until it is acknowledged or refused.

        Parameters
        ----------
        name : str
            The survey.
        body : bytes
            From `hushpoll_shared.wire.reports.pack_reports` or
            `hushpoll_shared.wire.batch.pack_rows`.
        """
        answer = object_of(
            self._transport.post(
                *survey_path(name),
                "reports",
                body=body,
                media_type=REPORTS_MEDIA_TYPE,
            )
        )
        accepted, duplicate, rejected = (
            answer.get(key) for key in ("accepted", "duplicate", "rejected")
        )
        if not (type(accepted) is type(duplicate) is int and isinstance(rejected, list)):
            raise unexpected("accepted, duplicate and rejected")
        if not all(isinstance(report, dict) for report in rejected):
            raise unexpected("objects in rejected")
        return BulkReceipt(accepted, duplicate, tuple(rejected))

    def estimates(
        self,
        name: str,
        version: int,
        *,
        confidence: float | None = None,
        estimator: str | None = None,
        where: Where | None = None,
    ) -> JsonMembers:
        """Fetch estimates of every attribute's categories.

        Parameters
        ----------
        name, version
            Which.
        confidence : float, optional
            Of the intervals; by default the server's, 0.95.
        estimator : str, optional
            Of :data:`hushpoll_shared.estimators.ESTIMATOR_TERMS`; by default ``unbiased``, the only
            one with an interval.
        where : mapping, optional
            By attribute, the categories of which a report has one; by default all reports.
        """
        asked = {"confidence": confidence, "estimator": estimator, "where": where}
        return self._asked(name, version, "estimates", **asked)

    def counts(self, name: str, version: int) -> CountsDocument:
        """Fetch the numbers of accepted and duplicate reports, and of refused ones by reason."""
        return self._fetched(CountsDocument, *version_path(name, version), "counts")

    def cross_table(
        self, name: str, version: int, a: str, b: str, *, confidence: float | None = None
    ) -> JsonMembers:
        """Fetch the joint frequencies of two attributes, with intervals of a confidence."""
        return self._asked(name, version, "cross-tables", a=a, b=b, confidence=confidence)

    def tidy_results(
        self, name: str, version: int, queries: Sequence[Query[Any] | str] = ()
    ) -> JsonMembers:
        """Fetch the results of several queries as rows with the same members.

        Parameters
        ----------
        name, version
            Which.
        queries : sequence of Query or str
            Queries, or their addresses as `Query.address` gives them; by default all about the
            whole survey or one question.

        Returns
        -------
        dict
            ``rows``, ``methods`` and ``left_out``;
            :func:`hushpoll_shared.tidying.results.tidy_table` makes a table of it.
        """
        addresses = [one if isinstance(one, str) else one.address() for one in queries]
        params = {"queries": " ".join(addresses)} if addresses else None
        path = (*version_path(name, version), "tidy-results")
        return object_of(self._transport.get(*path, params=params))

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

    def export(
        self,
        name: str,
        version: int,
        write: Callable[[bytes], object],
        *,
        format: str = "records",
        content: str = "records",
        raw: bool = False,
        cells: str | None = None,
        language: str | None = None,
        design: JsonObject | None = None,
    ) -> int:
        """Fetch a file of records piece by piece.

        Parameters
        ----------
        name, version
            Which.
        write : callable
            Called with each piece of bytes, such as a file's ``write``.
        format : str
            ``records``, the file that carries its own manifest; ``parquet``; ``csv``; ``sav`` of
            SPSS and ``dta`` of Stata.
        content : str
            Of a table: ``records``, what was reported; ``indicators``, a 0/1 column for each
            category; ``debiased``, the weights of a record in our estimates.
        raw : bool
            Of CSV: whether texts that a spreadsheet would take for formulas are left as they are.
        cells : str, optional
            Of records in CSV: ``labels`` (the default), ``codes``, or ``hexadecimal``.
        language : str, optional
            Of the labels of CSV, SPSS and Stata; by default the survey's own.
        design : mapping, optional
            Of a table: weights, strata and margins of attributes in clear, which become the columns
            weight, stratum and stratum_size.

        Returns
        -------
        int
            Bytes received.
        """
        params = {"format": format, "content": content} | ({"raw": "true"} if raw else {})
        if design is not None:
            params["design"] = canonical_json(design).decode()
        given = {"cells": cells, "language": language}
        params |= {key: value for key, value in given.items() if value is not None}
        return self._transport.download(
            *version_path(name, version), "records", write=write, params=params
        )

    def delete_records(self, name: str, version: int) -> DeletedRecords:
        """Delete the records of a version that is over, for good; its estimates stay.

        Returns
        -------
        dict
            ``deleted``, how many, and ``deleted_at``.
        """
        answer = self._transport.delete(*version_path(name, version), "records")
        return known(DeletedRecords, object_of(answer))
