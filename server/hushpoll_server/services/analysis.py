"""Estimates, cross-tables and the export of records, none below a survey's minimum batch."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from hushpoll_analysis.cross_table import CrossTable, cross_table, pair
from hushpoll_analysis.frequencies import frequencies
from hushpoll_server.errors import Refused
from hushpoll_server.services.surveys import SurveyService
from hushpoll_server.shuffle import permutation
from hushpoll_server.store.segments import SegmentStore
from hushpoll_server.store.surveys import VersionRow
from hushpoll_shared.records_file import pack_records_header

ROWS_PER_BLOCK = 65_536
# Questions that may wait for the one being answered. Each holds a thread that reports need.
WAITING_QUESTIONS = 4
RETRY_AFTER_SECONDS = 5


@dataclass(frozen=True)
class Export:
    """A file of records, streamed.

    Parameters
    ----------
    size : int
        Bytes of the whole file.
    blocks : iterator of bytes
        The file, in order; consumed once.
    """

    size: int
    blocks: Iterator[bytes]


class Analysis:
    """What an analyst can ask of a survey version's records.

    One question is worked on at a time: each takes every core and holds blocks of records. A few
    may wait; more are refused with ``unavailable``, so that analysts never keep reports out.
    """

    def __init__(self, *, surveys: SurveyService, segments: SegmentStore) -> None:
        self._surveys = surveys
        self._segments = segments
        self._turn = threading.Lock()
        self._places = threading.BoundedSemaphore(1 + WAITING_QUESTIONS)

    def estimates(self, row: VersionRow, *, confidence: float = 0.95) -> dict[str, Any]:
        """Estimate the frequencies of every attribute.

        Parameters
        ----------
        row : VersionRow
            The version.
        confidence : float
            Of the intervals, in (0, 1).

        Raises
        ------
        Refused
            ``not-enough-reports``, or ``unavailable``: too many questions at once.
        """
        self._require_batch(row)
        published = self._surveys.published(row)
        with self._alone():
            found = frequencies(published, self._blocks(row), confidence=confidence)
        return {
            **_heading(row),
            "n": found[0].n,
            "confidence": confidence,
            "attributes": [one.to_dict() for one in found],
        }

    def cross_table(
        self, row: VersionRow, a: str, b: str, *, confidence: float = 0.95
    ) -> dict[str, Any]:
        """Estimate the cross-table of two attributes.

        Raises
        ------
        InvalidParameter
            Unknown attribute, the same twice, or a table too large to read.
        Refused
            ``not-enough-reports``, or ``unavailable``: too many questions at once.
        """
        published = self._surveys.published(row)
        pair(published, a, b)
        self._require_batch(row)
        with self._alone():
            table = cross_table(published, self._blocks(row), a, b, confidence=confidence)
        return {
            **_heading(row),
            "a": table.a,
            "b": table.b,
            "n": table.n,
            "confidence": table.confidence,
            "cells": list(_cells(table)),
        }

    def export(self, row: VersionRow) -> Export:
        """Return a file of every record, in an order that means nothing and without ids.

        Raises
        ------
        Refused
            ``not-enough-reports``, or ``unavailable``: too many questions at once.
        """
        self._require_batch(row)
        header = pack_records_header(self._surveys.published(row))
        with self._alone():
            records = np.concatenate(list(self._blocks(row)))
            order = permutation(len(records))

        def blocks() -> Iterator[bytes]:
            yield header
            for start in range(0, len(order), ROWS_PER_BLOCK):
                yield records[order[start : start + ROWS_PER_BLOCK]].tobytes()

        return Export(len(header) + records.nbytes, blocks())

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._places.acquire(blocking=False):
            raise Refused(
                "unavailable",
                f"{1 + WAITING_QUESTIONS} questions are being answered or wait; ask again after "
                f"{RETRY_AFTER_SECONDS} s",
                retry_after=RETRY_AFTER_SECONDS,
            )
        try:
            with self._turn:
                yield
        finally:
            self._places.release()

    def _blocks(self, row: VersionRow) -> Iterator[np.ndarray[Any, np.dtype[np.uint8]]]:
        return self._segments.blocks(row.id, row.record_size)

    def _require_batch(self, row: VersionRow) -> None:
        there = self._segments.count(row.id)
        if there < row.minimum_batch:
            raise Refused(
                "not-enough-reports",
                f"{row.name} version {row.version} has {there} reports, fewer than its minimum "
                f"batch of {row.minimum_batch}; nothing is computed from so few: wait for more",
                reports=there,
                minimum_batch=row.minimum_batch,
            )


def _cells(table: CrossTable) -> Iterator[dict[str, Any]]:
    # Keyed "a" and "b": an attribute may be called like a column of the table.
    for i, category_a in enumerate(table.categories_a):
        for j, category_b in enumerate(table.categories_b):
            yield {
                "a": category_a,
                "b": category_b,
                "frequency": float(table.frequency[i, j]),
                "standard_error": float(table.standard_error[i, j]),
                "lower": float(table.lower[i, j]),
                "upper": float(table.upper[i, j]),
            }


def _heading(row: VersionRow) -> dict[str, Any]:
    return {"survey": row.name, "version": row.version, "digest": row.digest}
