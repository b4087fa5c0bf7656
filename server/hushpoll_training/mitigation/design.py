"""What learners that mitigate read of a design: evidence of groups, and the protected columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, hstack

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_training.learners.design import Design, Table
from hushpoll_training.learners.evidence import (
    SKIPPED,
    GroupEvidence,
    Reports,
    row_products,
)
from hushpoll_training.learners.grouping import DECLARED, Grouping, Groups, crossed, split_code


def evidence_of(design: Design, learner: str, grouping: Grouping = DECLARED) -> GroupEvidence:
    """Return the evidence of a design's rows; refuses rows that tell nothing of an attribute.

    A design of records brings it. For rows in clear it is their own columns of the protected
    attribute, of which the first category is compared with the second, and of further ones.
    """
    if design.evidence is not None:
        return design.evidence(grouping)
    if design.protected is None or design.protected.stop - design.protected.start < 2:
        raise InvalidParameter(
            f"the learner {learner} compares groups, and the survey declares no protected "
            "attribute with two groups; declare one in the manifest, or use the learner without "
            "mitigation",
            field="protected",
        )
    places = compared_places(design, grouping, design.protected)
    first, *further = (Reports(_columns(design.table, place), None) for place in places)
    groups = [
        grouping.of_protected(((0,), (1,)), first.k),
        *(grouping.of_further(one.k, unanswered=0) for one in further),
    ]
    codes = crossed(groups, [one.k for one in (first, *further)])
    return GroupEvidence(first.indicators, None, codes, further=tuple(further))


def compared_places(design: Design, grouping: Grouping, protected: slice) -> tuple[slice, ...]:
    """Return the columns of the protected attribute, and of those that it is crossed with."""
    others = {name: place for name, place in design.places.items() if place != protected}
    for name in grouping.further:
        if name not in others:
            raise InvalidParameter(
                f"further_groups has {name!r}; it must name attributes of categories that the "
                "model has columns of, besides the protected one: "
                f"{', '.join(others) or 'there are none'}",
                field="further_groups",
            )
    return protected, *(others[name] for name in grouping.further)


def all_labels(design: Design, evidence: GroupEvidence) -> npt.NDArray[np.int64]:
    """Return labels of the rows of :func:`evidence_of`: the design's, after them `SKIPPED`."""
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


def at_code(table: Table, places: Sequence[slice], code: int) -> Table:
    """Return the rows with the columns of all groups at one combination of categories in clear."""
    sizes = [place.stop - place.start for place in places]
    for place, own in zip(places, split_code(code, sizes), strict=True):
        table = substituted(table, place, own)
    return table


def groups_of(table: Table, places: Sequence[slice], groups: Groups) -> npt.NDArray[np.int64]:
    """Return the group of each row in clear, int64[n], -1 for rows in none; refuses records.

    Rows in clear name one category.
    """
    member = row_products([_columns(table, place) for place in places])
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


def saved_places(saved: Mapping[str, Any], columns: int) -> tuple[slice, ...]:
    """Return the places of the protected columns that a rule's file names; refuses others."""
    places = []
    for pair in (saved["protected"], *saved.get("further", ())):
        start, stop = (int(number) for number in pair)
        if not 0 <= start < stop <= columns:
            raise ValueError("names columns that the model does not have")
        places.append(slice(start, stop))
    return tuple(places)


def places_to_json(places: Sequence[slice]) -> JsonMembers:
    """Return what :func:`saved_places` reads."""
    first, *further = ([place.start, place.stop] for place in places)
    return {"protected": first, **({"further": further} if further else {})}


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
