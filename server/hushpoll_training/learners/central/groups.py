"""Groups of rows, for learners that treat each group apart."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, diags

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.central.network import Network
from hushpoll_training.learners.learner import Design, Learner, Table


def groups_of(design: Design, learner: Learner) -> tuple[npt.NDArray[np.int64], slice]:
    """Return the group of each row, counted from 0 over the groups that occur, and their columns.

    For certificates, which are not private.

    Raises
    ------
    InvalidParameter
        As :func:`categories_of`, or if only one group occurs.
    """
    category, columns = categories_of(design, learner)
    occurring, group = np.unique(category, return_inverse=True)
    if occurring.size < 2:
        raise InvalidParameter(
            f"the learner {learner.name} has no difference between groups to certify, because all "
            "rows are of one group; give rows of two groups or more",
            field="protected",
        )
    return np.asarray(group, np.int64), columns


def categories_of(design: Design, learner: Learner) -> tuple[npt.NDArray[np.int64], slice]:
    """Return the category of each row, counted from 0 over all categories, and their columns.

    The number of categories is public, whereas that of the groups that occur depends on the rows:
    one group, or none, is no reason to refuse. That a row has exactly one category is what a row in
    clear is, whatever the others are.

    Raises
    ------
    InvalidParameter
        If the columns of the protected attribute do not tell each row's group, or are fewer than
        two.
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
    columns = design.table[:, design.protected]
    member = columns.toarray() if isinstance(columns, csr_matrix) else np.asarray(columns)
    if not ((member == 0) | (member == 1)).all() or not (member.sum(axis=1) == 1).all():
        raise InvalidParameter(
            f"the learner {learner.name} needs to know each row's group, but the records tell "
            "several groups, or none, for a row; train it on rows in clear, or use the learner "
            "dpsgd",
            field="protected",
        )
    return np.asarray(member.argmax(axis=1), np.int64), design.protected


def without_weights(network: Network, columns: slice) -> Network:
    """Return the network with zeros for its first weights of these columns."""
    first = network.weights[0].copy()
    first[:, columns] = 0
    return Network((first, *network.weights[1:]), network.biases)


def without_columns(table: Table, columns: slice) -> Table:
    """Return the table with zeros in these columns."""
    keep = np.ones(table.shape[1])
    keep[columns] = 0
    if isinstance(table, csr_matrix):
        return csr_matrix(table @ diags(keep))
    return np.asarray(table) * keep
