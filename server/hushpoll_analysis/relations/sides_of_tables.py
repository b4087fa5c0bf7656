"""The sides of a table: attributes, and questions of one block taken together.

Records tell two attributes by independent noise if they are randomised apart. Questions of one
block are told by one record, so that together they are one side, whose categories are the
combinations of their answers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.laws import law_of, law_of_cells
from hushpoll_analysis.records.numbers import numbers
from hushpoll_analysis.records.records import Records
from hushpoll_protocols.estimation.marginals import Law, Marginal
from hushpoll_shared.survey.attributes import PublishedAttribute
from hushpoll_shared.survey.published import Published


@dataclass(frozen=True, slots=True)
class TableSide:
    """An attribute, or several questions of one block.

    Attributes
    ----------
    names : tuple of str
        One, or several.
    k : int
        Categories, or combinations of answers.
    law : FrequencyOracle, Marginal or None
        Of these; None in clear.
    """

    names: tuple[str, ...]
    k: int
    law: Law | None

    @property
    def most(self) -> int:
        """Combinations of the block with one of the side's that a record can support."""
        return self.law.members if isinstance(self.law, Marginal) else 1

    def numbers(self, records: Records) -> npt.NDArray[Any]:
        """Return how many combinations with each category the records support, [n, k]."""
        return numbers(records, self.names).reshape(len(records), self.k)


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
    sizes = {attribute.name: attribute.k for attribute in attributes}
    held = [name for side in sides for name in side.names]
    axes = table.reshape([sizes[name] for name in held])
    return np.transpose(axes, [held.index(attribute.name) for attribute in attributes])


def _side(published: Published, questions: Sequence[PublishedAttribute]) -> TableSide:
    k = math.prod(question.k for question in questions)
    block = published.block_of(questions[0].name)
    alone = len(questions) == 1 or block is None
    law = law_of(questions[0]) if alone or block is None else law_of_cells(block, k)
    return TableSide(tuple(question.name for question in questions), k, law)
