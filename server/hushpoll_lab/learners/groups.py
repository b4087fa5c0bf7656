"""Groups of rows, for learners that treat each group apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, diags

from hushpoll_lab.central.network import Network
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.learners.design import Design, Table
from hushpoll_training.learners.learner import Learner

Columns: TypeAlias = slice | npt.NDArray[np.int64]

MOST_GROUPS: Final = 1000
"""Combinations of the categories of several attributes, at most."""


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups that the categories of one protected attribute make, or of several together."""

    member: npt.NDArray[np.int64]
    """int64[n], the group of each row, counted from 0 over all combinations of categories."""
    count: int
    """K, public: the product of the numbers of categories. Not every group need have rows."""
    columns: npt.NDArray[np.int64]
    """int64[c], the columns of these attributes."""
    by_attribute: dict[str, npt.NDArray[np.int64]]
    """The category of each row, int64[n], by attribute; the first one is called "protected"."""


def combinations_of(design: Design, learner: Learner, further: Sequence[str]) -> Groups:
    """Return the groups of the protected attribute and of further ones, by their combinations.

    Tran et al., appendix E: a row is in one group, that of all its categories, so a learner that
    spends its epsilon on each group in parallel spends no more with several attributes. Refuses
    names that are the protected attribute's or none of those in clear, and more than `MOST_GROUPS`
    combinations; messages name the learner.
    """
    member, protected = categories_of(design, learner)
    count = protected.stop - protected.start
    columns, by_attribute = [np.arange(protected.start, protected.stop)], {"protected": member}
    for name in further:
        place = design.attributes.get(name)
        if place is None or place == protected:
            known = [key for key, value in design.attributes.items() if value != protected]
            raise InvalidParameter(
                f"further_groups has {name!r}; it must name attributes of categories that the rows "
                f"tell in clear, besides the protected one: {', '.join(known) or 'there are none'}",
                field="further_groups",
            )
        category = _category(design.table, place, learner)
        size = place.stop - place.start
        member, count = member * size + category, count * size
        columns.append(np.arange(place.start, place.stop))
        by_attribute[name] = category
    if count > MOST_GROUPS:
        raise InvalidParameter(
            f"the protected attributes have {count} combinations of categories; there may be "
            f"{MOST_GROUPS}. Name fewer attributes, or ones of fewer categories",
            field="further_groups",
        )
    return Groups(member, count, np.concatenate(columns), by_attribute)


def categories_of(design: Design, learner: Learner) -> tuple[npt.NDArray[np.int64], slice]:
    """Return the category of each row, counted from 0 over all categories, and their columns.

    The number of categories is public, whereas that of the groups that occur depends on the rows:
    one group, or none, is no reason to refuse. That a row has exactly one category is what a row in
    clear is, whatever the others are. Refuses columns that do not tell each row's group, or are
    fewer than two.
    """
    if design.protected is None:
        raise InvalidParameter(
            f"the learner {learner.name} treats each group apart, but the columns hold no "
            "protected attribute in clear; declare one in the manifest, train on rows in clear, "
            "or use the learner dpsgd",
            field="protected",
        )
    if design.protected.stop - design.protected.start < 2:
        raise InvalidParameter(
            f"the learner {learner.name} treats each group apart, but the protected attribute has "
            "a single category; declare one of two categories or more",
            field="protected",
        )
    return _category(design.table, design.protected, learner), design.protected


def occurring(group: npt.NDArray[np.int64], learner: Learner) -> npt.NDArray[np.int64]:
    """Return the groups counted from 0 over those that occur, for certificates.

    Refuses a single one.

    Which groups occur is no secret there.
    """
    values, counted = np.unique(group, return_inverse=True)
    if values.size < 2:
        raise InvalidParameter(
            f"the learner {learner.name} has no difference between groups to certify, because all "
            "rows are of one group; give rows of two groups or more",
            field="protected",
        )
    return np.asarray(counted, np.int64)


def without_weights(network: Network, columns: Columns) -> Network:
    """Return the network with zeros for its first weights of these columns."""
    first = network.weights[0].copy()
    first[:, columns] = 0
    return Network((first, *network.weights[1:]), network.biases)


def without_columns(table: Table, columns: Columns) -> Table:
    """Return the table with zeros in these columns."""
    keep = np.ones(table.shape[1])
    keep[columns] = 0
    if isinstance(table, csr_matrix):
        return csr_matrix(table @ diags(keep))
    return np.asarray(table) * keep


def _category(table: Table, place: slice, learner: Learner) -> npt.NDArray[np.int64]:
    columns = table[:, place]
    member = columns.toarray() if isinstance(columns, csr_matrix) else np.asarray(columns)
    if not ((member == 0) | (member == 1)).all() or not (member.sum(axis=1) == 1).all():
        raise InvalidParameter(
            f"the learner {learner.name} needs to know each row's group, but the records tell "
            "several groups, or none, for a row; train it on rows in clear, or use the learner "
            "dpsgd",
            field="protected",
        )
    return np.asarray(member.argmax(axis=1), np.int64)
