"""Whether weighted shares can tell anything, before any answer to the question is looked at.

Weights make n reports worth fewer: Kish's effective number, which depends on the answers to the
design's attributes and not on those to the question. The interval of a share is taken as that of so
many reports without weights, all answers equally frequent. A design with a margin of a perturbed
attribute divides by the shares of its categories among the respondents, so these must be known,
too; they are expected to be those of the population.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from hushpoll_analysis.estimates.precision import widest, width_of
from hushpoll_analysis.survey_design.calibrated import SURE
from hushpoll_analysis.survey_design.design import CheckedDesign
from hushpoll_analysis.survey_design.shares import WeightedShares
from hushpoll_analysis.verdicts.expected import Expected
from hushpoll_analysis.verdicts.judging import verdict_of
from hushpoll_shared.qualifying.verdict import Reach, Verdict, share_tells
from hushpoll_shared.queries.estimates import Estimates
from hushpoll_shared.survey.published import Published

_DIGITS: Final = 3
"""So many of the part of the reports that the effective ones are."""


def verdict_on(
    published: Published,
    plan: CheckedDesign,
    results: Sequence[WeightedShares],
    n: int | None = None,
) -> Verdict:
    """Return the verdict on weighted shares of one or several attributes; each is a part.

    Parameters
    ----------
    plan : CheckedDesign
        What is known of the sample, the same for all attributes.
    results : sequence of WeightedShares
        At least one. Their shares are not looked at.
    n : int, optional
        Reports, where some of them answer each attribute; by default the results have all.
    """
    first = results[0]
    parts = {one.attribute: _part(one) for one in results}
    confidence = first.confidence

    def foresee(_: Estimates, sides: Sequence[Expected]) -> list[Reach]:
        (whole,) = sides
        answering = {name: whole.answering((name, *plan.attributes())) for name in parts}
        shares = [
            _of_share(answering[name], name, part, confidence) for name, part in parts.items()
        ]
        for side, names in _alike(answering):
            shares += _of_margins(plan, side, confidence, names)
        return shares

    only = ["weighted shares", *(f"{name}: {part:g}" for name, part in parts.items())]
    for target in plan.targets:
        only += [*target.attributes, *(f"{share:.17g}" for share in target.shares.ravel().tolist())]
    # weighted shares are no query yet: those without weights are told apart by `only`
    query = Estimates(confidence=confidence)
    return verdict_of(query, [Expected(published, n or first.n)], foresee, only)


def _alike(answering: dict[str, Expected]) -> Iterator[tuple[Expected, tuple[str, ...]]]:
    """Yield the numbers of reports that there are, each with the attributes that it is of."""
    by_number: dict[int, list[str]] = {}
    for name, side in answering.items():
        by_number.setdefault(side.n, []).append(name)
    for names in by_number.values():
        yield answering[names[0]], tuple(names)


def _part(found: WeightedShares) -> float:
    """Return the part of the reports that the effective ones are; 1 where that is not known."""
    part = found.effective_n / found.n
    return round(min(part, 1.0), _DIGITS) if np.isfinite(part) else 1.0


def _of_share(side: Expected, name: str, part: float, confidence: float) -> Reach:
    asked = side.published.attribute(name)
    n = max(round(side.n * part), 1)
    half = widest(asked, 1 / asked.k, n, confidence) / 2
    what = f"a weighted share of {name}"
    if n != side.n:
        what += f", for which the weights make the reports worth {n:,}"
    return Reach(part=name, what=what, half_width=half, most=share_tells(asked.k))


def _of_margins(
    plan: CheckedDesign, side: Expected, confidence: float, parts: Sequence[str]
) -> Iterator[Reach]:
    """Yield how well the categories are known by whose shares a perturbed margin divides."""
    for target in plan.targets:
        if len(target.attributes) > 1:  # what its cells are known to, the shares' own sets say
            continue
        asked = side.published.attribute(target.attributes[0])
        if asked.oracle is None:
            continue
        shares = target.shares.tolist()
        place = min((share, code) for code, share in enumerate(shares) if share > 0)[1]
        half = width_of(asked, place, shares[place], side.n, confidence) / 2
        for part in parts:
            yield Reach(
                part=part,
                what=f"the share of {asked.name} = {asked.domain[place]}, by which the design "
                f"divides those of {part}",
                half_width=half,
                most=shares[place] / SURE,
            )
