"""Records of a survey: reports uploaded in batches, their counts, the file of all, its deletion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hushpoll_client.analyst.calls import (
    Calls,
    as_document,
    object_of,
    survey_path,
    unexpected_answer,
    version_path,
)
from hushpoll_shared.spelling.canonical import canonical_json
from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_shared.wire.documents.surveys import CountsDocument, DeletionDocument
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


class RecordCalls(Calls):
    """Uploads batches, counts and exports records, and deletes them."""

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
            raise unexpected_answer("accepted, duplicate and rejected")
        if not all(isinstance(report, dict) for report in rejected):
            raise unexpected_answer("objects in rejected")
        return BulkReceipt(accepted, duplicate, tuple(rejected))

    def counts(self, name: str, version: int) -> CountsDocument:
        """Fetch the numbers of accepted and duplicate reports, and of refused ones by reason."""
        return self._fetched(CountsDocument, *version_path(name, version), "counts")

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

    def delete_records(self, name: str, version: int) -> DeletionDocument:
        """Delete the records of a version that is over, for good; its estimates stay.

        Returns
        -------
        dict
            ``deleted``, how many, and ``deleted_at``.
        """
        answer = self._transport.delete(*version_path(name, version), "records")
        return as_document(DeletionDocument, object_of(answer))
