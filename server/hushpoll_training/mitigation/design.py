"""What learners that mitigate read of a design: evidence of groups, and the protected columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, hstack

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.learners.design import Design, Table
from hushpoll_training.mitigation.evidence import SKIPPED, GroupEvidence


def evidence_of(design: Design, learner: str) -> GroupEvidence:
    """Return the evidence of a design's rows.

    A design of records brings it. For rows in clear it is their own columns of the protected
    attribute, of which the first category is compared with the second.

    Raises
    ------
    InvalidParameter
        If the rows tell nothing of a protected attribute.
    """
    if design.evidence is not None:
        return design.evidence()
    if design.protected is None or design.protected.stop - design.protected.start < 2:
        raise InvalidParameter(
            f"the learner {learner} compares groups, and the survey declares no protected "
            "attribute with two groups; declare one in the manifest, or use the learner without "
            "mitigation",
            field="protected",
        )
    return GroupEvidence(_columns(design.table, design.protected), None, ((0,), (1,)))


def all_labels(design: Design, evidence: GroupEvidence) -> npt.NDArray[np.int64]:
    """Return the labels of the rows of :func:`evidence_of`: the design's, and after them `SKIPPED`.

    Parameters
    ----------
    design : Design
        Of m rows.
    evidence : GroupEvidence
        Of these rows, and of those whose record reports that the target was skipped.
    """
    more = len(evidence.indicators) - design.label.size
    return np.concatenate([design.label, np.full(more, SKIPPED)])


def part(design: Design, rows: npt.NDArray[np.bool_]) -> Design:
    """Return some of a design's rows, without their evidence."""
    weight = None if design.weight is None else design.weight[rows]
    return replace(
        design,
        table=design.table[rows],
        label=design.label[rows],
        weight=weight,
        evidence=None,
        skipped=None,
    )


def substituted(table: Table, place: slice, code: int) -> Table:
    """Return the rows with the protected attribute's columns at one category in clear."""
    rows = csr_matrix(table)
    width = place.stop - place.start
    column = np.zeros((rows.shape[0], width), dtype=rows.dtype)
    column[:, code] = 1
    return _with(rows, place, csr_matrix(column))


def blanked(table: Table, place: slice) -> Table:
    """Return the rows with zeros in the protected attribute's columns, which then tell nothing."""
    rows = csr_matrix(table)
    empty = csr_matrix((rows.shape[0], place.stop - place.start), dtype=rows.dtype)
    return _with(rows, place, empty)


def groups_of(
    table: Table, place: slice, groups: tuple[tuple[int, ...], ...]
) -> npt.NDArray[np.int64]:
    """Return the group of each row in clear, int64[n]; -1 for rows in none.

    Raises
    ------
    InvalidParameter
        If rows do not name one category, as records may.
    """
    member = _columns(table, place)
    if not (member.sum(axis=1) == 1).all():
        raise InvalidParameter(
            "thresholds of groups need each row's group in clear when predicting, but the rows "
            "tell several groups, or none; give rows in clear, or evaluate at each value",
            field="protected",
        )
    group_of_code = np.full(member.shape[1], -1)
    for group, codes in enumerate(groups):
        group_of_code[list(codes)] = group
    return np.asarray(group_of_code[member.argmax(axis=1)], np.int64)


def saved_place(saved: Mapping[str, Any], columns: int) -> slice:
    """Return the place of the protected columns that a rule's file names.

    Raises
    ------
    ValueError
        If a model of this many columns has no such place.
    """
    start, stop = (int(number) for number in saved["protected"])
    if not 0 <= start < stop <= columns:
        raise ValueError("names columns that the model does not have")
    return slice(start, stop)


def _with(rows: csr_matrix, place: slice, columns: csr_matrix) -> csr_matrix:
    parts = [rows[:, : place.start], columns, rows[:, place.stop :]]
    return hstack(parts, format="csr", dtype=rows.dtype)


def _columns(table: Table, place: slice) -> npt.NDArray[np.uint8]:
    columns = table[:, place]
    member = columns.toarray() if isinstance(columns, csr_matrix) else np.asarray(columns)
    if not ((member == 0) | (member == 1)).all():
        raise InvalidParameter(
            "the columns of the protected attribute hold other values than 0 and 1, so they tell "
            "no group; use the encoding indicator, or rows in clear",
            field="protected",
        )
    return member.astype(np.uint8)
