"""Verdicts in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from hushpoll_analysis.verdicts.expected import Expected
from hushpoll_analysis.verdicts.needed import N_MAX, POWER, PROTECTS
from hushpoll_protocols import format_epsilon
from hushpoll_protocols.epsilon import EPSILON_MAX
from hushpoll_shared.qualifying.verdict import Reach
from hushpoll_shared.survey.protection import survey_level
from hushpoll_shared.survey.published import Published

NAMED: Final = 4
"""Parts that a sentence names; the others it counts."""


def in_words(
    worst: Mapping[str, Reach],
    noisy: Mapping[str, Reach],
    sides: Sequence[Expected],
    reports: int | None,
    epsilon: Decimal | None,
    changed: Published | None,
    query: Any,
) -> str:
    """Return the verdict as sentences.

    Parameters
    ----------
    worst, noisy : mapping of str to Reach
        The widest reach of each part, and of those that cannot be told.
    sides : sequence of Expected
        The versions, with their reports.
    reports, epsilon : int, Decimal or None
        What would be enough; reports of all, also of those that do not answer a question of a draw.
    changed : Published or None
        The survey with that epsilon.
    """
    have = _have(sides, share_of_all(sides, query))
    level = getattr(query, "confidence", None)
    chosen = noisy or worst
    farthest = max(chosen.values(), key=lambda reach: reach.ratio)
    if not noisy:
        return f"{have} can tell {farthest.what}: {_reaches(farthest, level)}."
    start = f"{have} are too noisy to tell {farthest.what}"
    if len(noisy) < len(worst):
        others = len(worst) - len(noisy)
        start = (
            f"{have} can tell {others} of {len(worst)} parts of this result. They are too noisy to "
            f"tell {_listed(noisy)}; the noisiest is {farthest.what}"
        )
    elif len(noisy) > 1:
        start += f" and {len(noisy) - 1} more part{'s' if len(noisy) > 2 else ''} of this result"
    tells = f"{start}: {_reaches(farthest, level)}{_may(farthest)}."
    remedy = _remedy(sides, reports, epsilon, changed)
    if share_of_all(sides, query) < 1:
        remedy = remedy.replace(" reports", " reports in all", 1)
    return f"{tells} {remedy}"


def share_of_all(sides: Sequence[Expected], query: Any) -> Fraction:
    """Return which share of all reports answers all questions that a query names."""
    return min(
        side.published.share_answering(
            [one.name for one in side.published.attributes if one.name in query.names()]
        )
        for side in sides
    )


def _have(sides: Sequence[Expected], share: Fraction) -> str:
    sizes = " and ".join(f"{side.n:,}" for side in sides)
    epsilons = dict.fromkeys(
        format_epsilon(side.published.epsilon) for side in sides if side.published.perturbed
    )
    one = [side.n for side in sides] == [1]
    at = f" at epsilon {' and '.join(epsilons)}" if epsilons else ""
    asked = f" that answer{'s' if one else ''} what is asked" if share < 1 else ""
    return f"{sizes} report{'' if one else 's'}{asked}{at}"


def _reaches(reach: Reach, level: float | None) -> str:
    if reach.unit == "phi":
        if math.isinf(reach.half_width):
            return "no dependence would be found"
        if reach.ratio > 1:
            return (
                f"not even the strongest dependence, phi = {reach.most:.3g}, would be found with a "
                f"chance of {POWER:g}"
            )
        return (
            f"a dependence of phi = {reach.half_width:.2g} is found with a chance of {POWER:g}, "
            f"and the strongest is {reach.most:.3g}"
        )
    which = "its interval" if level is None else f"its {100 * level:g} % interval"
    if math.isinf(reach.half_width):
        return f"{which} is expected to have no bound"
    return f"{which} is expected to reach {_amount(reach, reach.half_width)} to either side"


def _may(reach: Reach) -> str:
    if reach.unit == "phi":
        return ""
    return f", and tells something if it reaches at most {_amount(reach, reach.most)}"


def _amount(reach: Reach, value: float) -> str:
    if reach.unit == "points":
        return f"{100 * value:.3g} percentage points"
    return f"{value:.3g}"


def _listed(parts: Mapping[str, Reach]) -> str:
    names = list(parts)[:NAMED]
    more = len(parts) - len(names)
    if more:
        return f"{', '.join(names)} and {more} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _remedy(
    sides: Sequence[Expected],
    reports: int | None,
    epsilon: Decimal | None,
    changed: Published | None,
) -> str:
    each = " of each version" if len(sides) > 1 else ""
    enough = (
        f"No number of reports up to {N_MAX:,} is enough"
        if reports is None
        else f"About {reports:,} reports{each} would be enough at this epsilon"
    )
    if not any(side.published.perturbed for side in sides):
        return f"{enough.removesuffix(' at this epsilon')}."
    if epsilon is None:
        return f"{enough}; with these reports no epsilon up to {EPSILON_MAX} is."
    protects = ""
    if changed is not None:
        protects = PROTECTS.get(survey_level(changed.budget.values(), changed.reach.values()), "")
    told = f"an epsilon of {format_epsilon(epsilon)} would be{protects}"
    return f"{enough}; with these reports {told}."
