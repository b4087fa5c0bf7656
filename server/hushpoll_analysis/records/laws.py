"""What the records say of a question: the law of its protocol, or of its part of a block."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.fields import over_others
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.marginals import (
    AnyLaw,
    Law,
    UnevenSets,
    marginal,
    members_of,
)
from hushpoll_protocols.oracle import FrequencyOracle
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_shared.survey.randomization.blocks import Block


def refuse_draw(attribute: PublishedAttribute) -> None:
    """Refuse to read a question that some respondents answer as if all had."""
    if attribute.draw is not None:
        raise InvalidParameter(
            f"{attribute.name} is in the draw {attribute.draw}, of which each respondent answers "
            "some blocks; this version does not compute this statistic of such questions yet. Ask "
            "about questions that everybody answers, or for estimates, cross-tables, means and "
            "shares in groups",
            field="attribute",
        )


def law_of(attribute: PublishedAttribute) -> AnyLaw | None:
    """Return the law of an attribute's categories, None in clear; refuses one in a draw.

    Of a question that is randomised with others the sets of combinations are meant that its
    categories are. They have different sizes where combinations with a follow-up that is not asked
    are left out of the block.
    """
    refuse_draw(attribute)
    if attribute.oracle is None:
        return None
    return _of_sizes(attribute.oracle, attribute.set_sizes or (combinations_of(attribute),))


def even_law_of(attribute: PublishedAttribute) -> Law | None:
    """Return the law of an attribute's categories; refuses sets of different sizes."""
    law = law_of(attribute)
    if isinstance(law, UnevenSets):
        raise _refused_tree(attribute.name, attribute.block)
    return law


def cells_of(block: Block, names: Sequence[str]) -> tuple[npt.NDArray[np.int64], AnyLaw]:
    """Return the combinations in each cell of some questions of a block, and the law of the cells.

    The law is that of the cells which have some, the last question's answers changing fastest.
    """
    sizes = over_others(np.ones(block.k, np.int64), block, names)
    return sizes, _of_sizes(block.oracle, tuple(sizes[sizes > 0].tolist()))


def _of_sizes(oracle: FrequencyOracle, sizes: tuple[int, ...]) -> AnyLaw:
    if len(set(sizes)) == 1:
        return marginal(oracle, oracle.k // sizes[0])
    return UnevenSets(oracle, sizes)


def _refused_tree(names: str, block: str | None) -> InvalidParameter:
    return InvalidParameter(
        f"{names}: in the block {block}, which has a follow-up with its router, or the options of "
        "a select-all within limits, so that some answers do not go together; this version does "
        "not compute this statistic of such questions yet. Ask about questions that are not in it, "
        "or for estimates, means, cross-tables and shares in groups within it",
        field="attribute",
    )


def members_of_categories(attribute: PublishedAttribute) -> tuple[int, ...]:
    """Return how many values of the randomised domain stand for each category; 1 if it is alone."""
    return members_of(law_of(attribute), attribute.k)


def combinations_of(attribute: PublishedAttribute) -> int:
    """Return how many values of the randomised domain stand for a category; 1 if it is alone."""
    return 1 if attribute.oracle is None else attribute.oracle.k // attribute.k


def refuse_block(attribute: PublishedAttribute) -> None:
    """Refuse to read a question that is randomised with others as if it stood alone."""
    if attribute.block is not None:
        raise InvalidParameter(
            f"{attribute.name} is randomised together with other questions, in the block "
            f"{attribute.block}, so that no part of a record is its own; name the block, or take "
            "questions that are in no block",
            field="attribute",
        )
