"""The table of two questions, wherever they are randomised.

Two questions of different blocks have the product of their weights
(:mod:`hushpoll_analysis.estimates.joint`). In one block that product would be biased, as one record
answers both: there a cell is a set of the block's combinations, and has the estimate of a set
(:mod:`hushpoll_protocols.estimation.marginals`).
"""

from __future__ import annotations

import numpy as np

from hushpoll_analysis.estimates.joint import JointEstimate, Side, estimate_joint
from hushpoll_analysis.poisoning.influence import (
    Influence,
    TableInfluence,
    influence,
    influence_of,
    table_influence,
)
from hushpoll_analysis.records.counts import JointCounts
from hushpoll_analysis.records.laws import law_of, law_of_cells
from hushpoll_protocols.estimation.frequencies import estimate
from hushpoll_shared.survey.blocks import Block
from hushpoll_shared.survey.published import Published


def common_block(published: Published, a: str, b: str) -> Block | None:
    """Return the block that both questions are in, or None."""
    block = published.block_of(a)
    return block if block is not None and block is published.block_of(b) else None


def estimate_table(
    published: Published, counts: JointCounts, a: str, b: str, *, confidence: float
) -> JointEstimate:
    """Estimate the joint frequencies of two different questions.

    Parameters
    ----------
    published : Published
        The survey.
    counts : JointCounts
        As :meth:`hushpoll_analysis.records.source.Source.table` gives them.
    a, b : str
        The questions: rows and columns.
    confidence : float
        Of each interval.

    Raises
    ------
    InvalidParameter
        If confidence is outside (0, 1), or there is no record.
    """
    first, second = (law_of(published.attribute(name)) for name in (a, b))
    block = common_block(published, a, b)
    if block is None or first is None or second is None:
        return estimate_joint(counts, Side.of(first), Side.of(second), confidence=confidence)
    shape = counts.both.shape
    cells = estimate(
        law_of_cells(block, counts.both.size),
        np.ravel(counts.both),
        counts.n,
        confidence=confidence,
    )
    return JointEstimate(
        cells.frequency.reshape(shape),
        cells.standard_error.reshape(shape),
        cells.lower.reshape(shape),
        cells.upper.reshape(shape),
        estimate(first, counts.first, counts.n).frequency,
        estimate(second, counts.second, counts.n).frequency,
    )


def influence_on_table(
    published: Published, a: str, b: str, joint: JointEstimate
) -> Influence | TableInfluence:
    """Return what one fake report can count as in a cell of the table of two questions."""
    block = common_block(published, a, b)
    if block is not None:
        return influence(block.oracle, targets=block.k // joint.frequency.size)
    first, second = (influence_of(published.attribute(name)) for name in (a, b))
    return table_influence(first, second, (joint.first, joint.second))
