"""The table of two questions, wherever they are randomised.

Two questions of different blocks have the product of their weights
(:mod:`hushpoll_analysis.estimates.joint`). In one block that product would be biased, as one record
answers both: there a cell is a set of the block's combinations, and has the estimate of a set
(:mod:`hushpoll_protocols.estimation.marginals`). A cell without a combination, such as an answer to
a question that was not asked, has the share 0.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hushpoll_analysis.estimates.influence import (
    Influence,
    TableInfluence,
    influence,
    influence_of,
    table_influence,
)
from hushpoll_analysis.estimates.joint import JointEstimate, Side, estimate_joint
from hushpoll_analysis.records.counts import JointCounts
from hushpoll_analysis.records.laws import cells_of, law_of
from hushpoll_protocols.estimation.frequencies import estimate
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.randomization.blocks import Block


def common_block(published: Published, a: str, b: str) -> Block | None:
    """Return the block that both questions are in, or None."""
    block = published.block_of(a)
    return block if block is not None and block is published.block_of(b) else None


def estimate_table(
    published: Published, counts: JointCounts, a: str, b: str, *, confidence: float
) -> JointEstimate:
    """Estimate the joint frequencies of two different questions, a in rows and b in columns."""
    block = common_block(published, a, b)
    if block is None:
        first, second = (Side.of(law_of(published.attribute(name))) for name in (a, b))
        return estimate_joint(counts, first, second, confidence=confidence)
    sizes, law = cells_of(block, [a, b])
    cells = estimate(law, counts.both[sizes > 0], counts.n, confidence=confidence)
    # nobody can be in a cell that no combination is in
    frequency, error, lower, upper = (np.zeros(counts.both.shape) for _ in range(4))
    for part, found in (
        (frequency, cells.frequency),
        (error, cells.standard_error),
        (lower, cells.lower),
        (upper, cells.upper),
    ):
        part[sizes > 0] = found
    return JointEstimate(
        frequency, error, lower, upper, frequency.sum(axis=1), frequency.sum(axis=0)
    )


def influence_on_table(
    published: Published, a: str, b: str, joint: JointEstimate
) -> Influence | TableInfluence:
    """Return what one fake report can count as in a cell of the table of two questions."""
    block = common_block(published, a, b)
    drawn = 1 / published.share_answering([a, b])
    if block is not None:
        alone = influence(block.oracle, targets=int(cells_of(block, [a, b])[0].max()))
        return replace(alone, drawn=drawn)
    first, second = (influence_of(published.attribute(name)) for name in (a, b))
    return replace(table_influence(first, second, (joint.first, joint.second)), drawn=drawn)
