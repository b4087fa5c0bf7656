"""The sides of a table: attributes, and questions of one block taken together.

Records tell two attributes by independent noise if they are randomised apart. Questions of one
block are told by one record, so that together they are one side, whose categories are the
combinations of their answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.laws import cells_of, law_of
from hushpoll_analysis.records.numbers import numbers
from hushpoll_analysis.records.records import Records
from hushpoll_protocols.estimation.marginals import AnyLaw, members_of
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute


@dataclass(frozen=True, slots=True)
class TableSide:
    """An attribute, or several questions of one block.

    Attributes
    ----------
    names : tuple of str
        One, or several.
    k : int
        Categories, or combinations of answers that can be given together.
    law : FrequencyOracle, Marginal, UnevenSets or None
        Of these; None in clear.
    possible : tuple of bool or None
        Of all combinations of answers, which can be given together; None if all can.
    """

    names: tuple[str, ...]
    k: int
    law: AnyLaw | None
    possible: tuple[bool, ...] | None = None

    @property
    def most(self) -> int:
        """Combinations of the block with one of the side's that a record can support."""
        return max(members_of(self.law, self.k))

    @property
    def all_cells(self) -> int:
        """Categories, or combinations of answers, with those that cannot be given together."""
        return self.k if self.possible is None else len(self.possible)

    def numbers(self, records: Records) -> npt.NDArray[Any]:
        """Return how many combinations with each category the records support, [n, k]."""
        whole = numbers(records, self.names).reshape(len(records), self.all_cells)
        return whole if self.possible is None else whole[:, list(self.possible)]

    def spread_out(self, table: npt.NDArray[Any], axis: int) -> npt.NDArray[Any]:
        """Return a table with a 0 for combinations of answers that cannot be given together."""
        if self.possible is None:
            return table
        whole = np.zeros((self.all_cells, *np.delete(table.shape, axis)), table.dtype)
        whole[list(self.possible)] = np.moveaxis(table, axis, 0)
        return np.moveaxis(whole, 0, axis)


def table_sides(
    published: Published, attributes: Sequence[PublishedAttribute]
) -> tuple[TableSide, ...]:
    """Return the sides of a table of some attributes, in the order of their first ones."""
    sides: dict[str, list[PublishedAttribute]] = {}
    for attribute in attributes:
        block = published.block_of(attribute.name)
        sides.setdefault(attribute.name if block is None else block.name, []).append(attribute)
    return tuple(_side(published, questions) for questions in sides.values())


def as_asked(
    table: npt.NDArray[Any], sides: Sequence[TableSide], attributes: Sequence[PublishedAttribute]
) -> npt.NDArray[Any]:
    """Return a table of sides with an axis for each attribute, in the order of these."""
    table = table.reshape([side.k for side in sides])
    for axis, side in enumerate(sides):
        table = side.spread_out(table, axis)
    sizes = {attribute.name: attribute.k for attribute in attributes}
    held = [name for side in sides for name in side.names]
    axes = table.reshape([sizes[name] for name in held])
    return np.transpose(axes, [held.index(attribute.name) for attribute in attributes])


def _side(published: Published, questions: Sequence[PublishedAttribute]) -> TableSide:
    names = tuple(question.name for question in questions)
    block = published.block_of(names[0])
    if len(questions) == 1 or block is None:
        return TableSide(names, questions[0].k, law_of(questions[0]))
    sizes, law = cells_of(block, names)
    possible = None if sizes.all() else tuple((sizes > 0).ravel().tolist())
    return TableSide(names, int((sizes > 0).sum()), law, possible)
