"""Who is asked a follow-up, and how many combinations of a block stand for its answers.

A plan is about the people who are asked, as the statistics of a follow-up are. How many they are is
not known beforehand: all answers to its router are taken as equally frequent.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.laws import cells_of, members_of_categories
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_shared.survey.questions.follow_ups import routes_of

Array = npt.NDArray[np.float64]


def answers_of(attribute: PublishedAttribute) -> int:
    """Return the number of answers that those asked have: the domain but for `not asked`."""
    return attribute.k - (attribute.ask_if is not None)


def part_asked(published: Published, name: str) -> float:
    """Return which part of the people is asked a question if all answers are as frequent."""
    routes, part = routes_of(published.attributes), 1.0
    while name in routes:
        name, asking = routes[name]
        part *= len(asking) / answers_of(published.attribute(name))
    return part


def over_domain(attribute: PublishedAttribute, part: float, among: Array) -> Array:
    """Return shares f64[k, ...] of all people from those among the part that is asked."""
    if attribute.ask_if is None:
        return among
    return np.concatenate([among * part, among.sum(axis=0, keepdims=True) * (1 - part)])


def asked_codes(attribute: PublishedAttribute) -> Array:
    """Return 1 for each code of those asked, and 0 for `not asked`, f64[k]."""
    asked = np.ones(attribute.k)
    if attribute.ask_if is not None:
        asked[-1] = 0.0
    return asked


def sizes_of(attribute: PublishedAttribute) -> Array:
    """Return how many values of the domain that is randomised stand for each category, f64[k]."""
    return np.array(members_of_categories(attribute), np.float64)


def sizes_of_cells(published: Published, of: str, given: str) -> Array | None:
    """Return how many combinations each cell of two questions has; None in different blocks."""
    block = published.block_of(of)
    if block is None or block.alone or block is not published.block_of(given):
        return None
    return cells_of(block, [of, given])[0].astype(np.float64)
