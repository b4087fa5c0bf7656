"""The verdict of a result, before any report is looked at.

What can be told follows from the query, from how many reports there are, and from the survey. How
far intervals will reach is asked of the query's own function, given the counts that are expected
(:mod:`hushpoll_analysis.verdicts.expected`), or of a function that knows it without: `Foresee`. How
many reports, or which epsilon, would do is then looked for with the same function. Verdicts are
kept, as the same query is asked of one release many times.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, ParamSpec, TypeVar

from hushpoll_analysis.frames.tabular import ArrayResult
from hushpoll_analysis.verdicts.expected import Expected, with_epsilon
from hushpoll_analysis.verdicts.needed import (
    N_MAX,
    POWER,
    PROTECTS,
    fewest_reports,
    rounded_up,
    smallest_epsilon,
)
from hushpoll_protocols import InvalidParameter, format_epsilon
from hushpoll_protocols.epsilon import EPSILON_MAX
from hushpoll_shared.qualifying.verdict import INFORMATIVE, TOO_NOISY, Reach, Verdict
from hushpoll_shared.querying.query import Query
from hushpoll_shared.querying.result import Result
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

    `worst` has the widest reach of each part, `noisy` those that cannot be told. Reports and
    epsilon are what would be enough, reports also of those that do not answer a question of a draw;
    `changed` is the survey with that epsilon.
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


Foresee = Callable[[Any, Sequence[Expected]], Sequence[Reach]]
"""From a query and the expected counts of its sources to how far the intervals will reach."""

P = ParamSpec("P")
F = TypeVar("F", bound=ArrayResult | Result)

KEPT: Final = 512
"""Verdicts."""
_WITHIN: Final = "given"
"""The parameter that names an attribute whose categories are groups."""


@dataclass(frozen=True, slots=True)
class _Case:
    """What a verdict depends on; `key` tells cases apart, and the others are not compared."""

    key: tuple[object, ...]
    query: Any
    sides: tuple[Expected, ...]
    foresee: Foresee

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Case) and self.key == other.key


def verdict_of(
    query: Query[Any],
    sides: Sequence[Expected],
    foresee: Foresee,
    only: Sequence[str] | None = None,
) -> Verdict:
    """Return the verdict on a query of one or two versions, the present one first.

    `foresee` says how far the intervals will reach; `only` are the questions that it is about,
    where the query does not say so.
    """
    spelled = tuple(sorted(query.spelled().items()))
    # a survey whose groups in clear are merged has the digest of the one that was published
    of_sides = tuple((side.published.canonical, side.n) for side in sides)
    key = (type(query), spelled, of_sides, None if only is None else tuple(only))
    return _verdict(_Case(key, query, tuple(sides), foresee))


def judged(maths: Callable[P, F], *, foresee: Foresee | None = None) -> Callable[P, F]:
    """Make a function (query, source) -> result, or of two sources, add the verdict.

    By default the function itself foresees how far the intervals will reach, given expected counts.
    """
    ahead = foresee or from_expected(maths)

    @functools.wraps(maths)
    def with_verdict(*args: P.args, **keywords: P.kwargs) -> F:
        asked: Sequence[Any] = args
        _check_numbers(asked[0], [one.published for one in asked[1:] if _is_source(one)])
        return add_verdict(maths(*args, **keywords), args, ahead)

    return with_verdict


def foreseen(foresee: Foresee) -> Callable[[Callable[P, F]], Callable[P, F]]:
    """Return what makes a function add the verdict that `foresee` gives; see :func:`judged`."""
    return functools.partial(judged, foresee=foresee)


def add_verdict(result: F, asked: Sequence[Any], foresee: Foresee) -> F:
    """Return what a function found, with its verdict; `asked` are the query and its sources."""
    query, sources = asked[0], [one for one in asked[1:3] if _is_source(one)]
    expected = [
        Expected(source.published, n) for source, n in zip(sources, _sizes(result), strict=True)
    ]
    verdict = verdict_of(query, expected, foresee)
    return replace(result, verdict=verdict)  # type: ignore[type-var]  # a dataclass


def from_expected(maths: Callable[..., ArrayResult | Result]) -> Foresee:
    """Return what asks a query's own function, given expected counts."""

    def foresee(query: Any, sides: Sequence[Expected]) -> Sequence[Reach]:
        found = maths(query, *sides)
        return tuple((found.result() if isinstance(found, ArrayResult) else found).reaches())

    return foresee


def _is_source(one: object) -> bool:
    return hasattr(one, "published")


def _sizes(found: Any) -> tuple[int, ...]:
    """Return how many reports this version has, and the one that it is compared with."""
    if hasattr(found, "before"):
        return found.after.n, found.before.n
    return (found.n,)


@functools.lru_cache(maxsize=KEPT)
def _verdict(case: _Case) -> Verdict:
    sides, query = case.sides, case.query
    share = share_of_all(sides, query)
    reaches = case.foresee(query, sides)
    worst: dict[str, Reach] = {}
    for reach in reaches:
        kept = worst.get(reach.part)
        if kept is None or reach.ratio > kept.ratio:
            worst[reach.part] = reach
    noisy = {part: reach for part, reach in worst.items() if reach.ratio > 1}
    reports = epsilon = changed = None
    if noisy:

        def ratio(every: Sequence[Expected]) -> float:
            return max(one.ratio for one in case.foresee(query, every) if one.part in noisy)

        now = max(one.ratio for one in noisy.values())
        reports = fewest_reports(
            lambda n: ratio([Expected(side.published, n) for side in sides]),
            min(side.n for side in sides),
            now,
        )
        if reports is not None:
            reports = round(rounded_up(reports / float(share)))

        def at_times(total: Decimal) -> list[Published]:
            times = total / sides[0].published.epsilon
            most = Decimal(64)
            return [
                with_epsilon(side.published, min(side.published.epsilon * times, most))
                for side in sides
            ]

        def ratio_at(total: Decimal) -> float:
            changed_sides = zip(at_times(total), sides, strict=True)
            return ratio([Expected(published, side.n) for published, side in changed_sides])

        if any(side.published.perturbed for side in sides):
            epsilon = smallest_epsilon(ratio_at, sides[0].published.epsilon, now)
        if epsilon is not None:
            changed = at_times(epsilon)[0]
    return Verdict(
        says=TOO_NOISY if len(noisy) == len(worst) else INFORMATIVE,
        sentence=in_words(worst, noisy, sides, reports, epsilon, changed, query),
        respondents=reports,
        epsilon=None if epsilon is None else format_epsilon(epsilon),
        too_noisy=tuple(noisy),
    )


def _check_numbers(query: Query[Any], surveys: Iterable[Published]) -> None:
    """Refuse a statistic of the single answers to a number, of which records have an anchor."""
    for published in surveys:
        rounded = {one.name for one in published.attributes if one.rounded}
        for name, parameter in query.names().items() if rounded else ():
            if name not in rounded or (not query.single_answers and parameter != _WITHIN):
                continue
            asked = "groups" if parameter == _WITHIN else query.single_answers
            raise InvalidParameter(
                f"{name} is answered by a number, and of each answer the records have one of the "
                f"two anchors beside it: {asked} of single numbers are not known; ask for its mean "
                "and quantiles (ordered-answers), which may be within groups of another attribute",
                field=parameter,
            )
