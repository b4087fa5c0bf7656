"""Are verdicts right? Each is set beside surveys drawn without an effect, and with the largest one.

A verdict is decided beforehand. "Informative" is right where intervals cover and reach no farther
than what tells something, and where the largest effect is found with at least the chance that is
promised; "too noisy to tell" is right where they reach farther, or the largest effect is found more
seldom. ``scripts/coverage-study --verdicts`` runs it in full.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.query_results import result_of
from hushpoll_analysis.records.counts import Counts, JointCounts, PairCounts
from hushpoll_analysis.records.source import OfCounts
from hushpoll_analysis.verdicts.needed import POWER
from hushpoll_protocols.kernels import indicators, perturb
from hushpoll_shared import Manifest
from hushpoll_shared.qualifying.verdict import (
    DIFFERENCE,
    INFORMATIVE,
    TOO_NOISY,
    Says,
    share_tells,
)
from hushpoll_shared.queries.conditional_shares import ConditionalShares
from hushpoll_shared.queries.cross_tables import CrossTable
from hushpoll_shared.queries.independence import Independence
from hushpoll_shared.queries.ordered_answers import Ordered
from hushpoll_shared.querying.query import Query
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from studies.command import study_command

Codes = npt.NDArray[np.int64]
Effect = Literal["none", "largest"]
EFFECTS: Final[tuple[Effect, ...]] = ("none", "largest")

SEED = 2026
SURVEYS = 300

LEVEL: Final = 0.95
"""Of the intervals; a test has the rest of 1 as its level."""

SETTINGS: tuple[tuple[int, str, str, int], ...] = (
    (10, "GRR", "4", 5_000),
    (10, "GRR", "4", 20_000),
    (10, "OUE", "4", 1_000),
    (10, "GRR", "16", 300),
    (10, "GRR", "16", 5_000),
    (4, "GRR", "2", 1_000),
    (4, "GRR", "4", 1_000),
    (4, "OUE", "8", 200),
    (4, "SS", "12", 60),
    (4, "SS", "12", 2_000),
)
"""Questions, protocol, epsilon of all of them in equal parts, and respondents."""

ASKED: Final[dict[str, tuple[str, ...]]] = {
    "gender": ("man", "woman"),
    "smokes": ("yes", "no"),
    "region": ("north", "east", "south", "west"),
    "rating": ("1", "2", "3", "4", "5"),
}
"""The questions that are asked for; the others of a survey are yes or no."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Limits of an estimate, infinite where there is no bound, and the truth."""

    lower: float
    upper: float
    truth: float

    @classmethod
    def of(cls, row: Any, truth: float) -> Interval:
        """Return that of a row of a result."""
        lower = -np.inf if row.lower is None else row.lower
        return cls(lower, np.inf if row.upper is None else row.upper, truth)

    @property
    def covers(self) -> bool:
        """Whether the truth is in it."""
        return self.lower <= self.truth + 1e-12 and self.truth - 1e-12 <= self.upper

    @property
    def reach(self) -> float:
        """Half of its width."""
        return (self.upper - self.lower) / 2

    @property
    def is_apart(self) -> bool:
        """Whether 0 is not in it."""
        return self.lower > 0 or self.upper < 0


@dataclass(frozen=True, slots=True)
class Seen:
    """What a survey says of a part: intervals, or None of a test; and whether it finds an effect.

    `found` is None where there is nothing to find: of shares and means.
    """

    intervals: tuple[Interval, ...] | None
    found: bool | None


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a result, what tells something there, and how a result is read.

    Attributes
    ----------
    title : str
        In words.
    name : str
        Of the part, as verdicts name it.
    query : Query
        The question.
    most : float or None
        How far an interval may reach to tell something; None of a test.
    read : callable
        From a result and the true joint shares f64[k, groups] to what it says.
    """

    title: str
    name: str
    query: Query[Any]
    most: float | None
    read: Callable[[Any, npt.NDArray[np.float64]], Seen]

    @property
    def pair(self) -> tuple[str, str]:
        """The question, and the one that makes the groups."""
        asked: Any = self.query
        match asked:
            case ConditionalShares():
                return asked.of, asked.given
            case Ordered():
                return asked.attribute, str(asked.given)
        return asked.a, asked.b


def _shares(result: Any, truth: npt.NDArray[np.float64]) -> Seen:
    within = (truth / truth.sum(axis=0)).T.ravel()
    rows = zip(result.shares, within, strict=True)
    return Seen(tuple(Interval.of(row, share) for row, share in rows), None)


def _differences(result: Any, truth: npt.NDArray[np.float64]) -> Seen:
    within = truth / truth.sum(axis=0)
    rows = zip(result.differences, (within[:, :-1] - within[:, -1:]).T.ravel(), strict=True)
    return _apart(Interval.of(row, share) for row, share in rows)


def _cells(result: Any, truth: npt.NDArray[np.float64]) -> Seen:
    rows = zip(result.cells, truth.ravel(), strict=True)
    return Seen(tuple(Interval.of(row, share) for row, share in rows), None)


def _test(result: Any, truth: npt.NDArray[np.float64]) -> Seen:
    del truth
    return Seen(None, result.conclusion == "dependent")


def _means(result: Any, truth: npt.NDArray[np.float64]) -> Seen:
    rows = zip(result.groups, _true_means(truth), strict=True)
    return Seen(tuple(Interval.of(row.mean, mean) for row, mean in rows), None)


def _apart_means(result: Any, truth: npt.NDArray[np.float64]) -> Seen:
    means = _true_means(truth)
    rows = zip(result.differences, means[:-1] - means[-1], strict=True)
    return _apart(Interval.of(row.mean, mean) for row, mean in rows)


def _true_means(truth: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    scores = np.arange(1, len(truth) + 1)
    return np.asarray(scores @ truth / truth.sum(axis=0))


def _apart(intervals: Iterable[Interval]) -> Seen:
    """Return differences; the effect is found if one of the largest is seen not to be zero."""
    every = tuple(intervals)
    largest = max(every, key=lambda one: abs(one.truth))
    return Seen(every, largest.is_apart)


SMOKING: Final = ConditionalShares(of="smokes", given="gender", reference="woman")
REGIONS: Final = ConditionalShares(of="smokes", given="region", reference="west")
RATINGS: Final = Ordered(attribute="rating", given="gender", reference="woman")
SCALE: Final = len(ASKED["rating"]) - 1

PARTS: tuple[Part, ...] = (
    Part("shares in groups, 2 x 2", "shares", SMOKING, share_tells(2), _shares),
    Part("differences of shares, 2 x 2", "differences", SMOKING, DIFFERENCE, _differences),
    Part("shares in groups, 2 x 4", "shares", REGIONS, share_tells(2), _shares),
    Part("differences of shares, 2 x 4", "differences", REGIONS, DIFFERENCE, _differences),
    Part("cells, 2 x 2", "cells", CrossTable(a="smokes", b="gender"), share_tells(4), _cells),
    Part("cells, 2 x 4", "cells", CrossTable(a="smokes", b="region"), share_tells(8), _cells),
    Part("independence, 2 x 2", "test", Independence(a="smokes", b="gender"), None, _test),
    Part("independence, 2 x 4", "test", Independence(a="smokes", b="region"), None, _test),
    Part("means in groups, 5 x 2", "groups", RATINGS, SCALE / 4, _means),
    Part("differences of means, 5 x 2", "differences", RATINGS, SCALE / 2, _apart_means),
)


@dataclass(frozen=True, slots=True)
class Row:
    """What surveys of a setting said of a part, beside its verdict.

    Attributes
    ----------
    part, setting : str
        In words.
    effect : {"none", "largest"}
        That was there.
    verdict : str
        Which was given.
    given : float
        In which share of the surveys: in all, as it is decided beforehand.
    reached : float or None
        Median half-width of an interval over what tells something; None of a test, and where half
        of the intervals or more have no bound.
    covered : float or None
        Share of the intervals that held the truth.
    found : float or None
        Share of the surveys that found an effect; None of shares and means.
    surveys : int
        Drawn.
    right : bool
        Whether the verdict was.
    """

    part: str
    setting: str
    effect: Effect
    verdict: Says
    given: float
    reached: float | None
    covered: float | None
    found: float | None
    surveys: int
    right: bool


def survey(questions: int, protocol: str, epsilon: str) -> Published:
    """Return a survey of the asked questions and so many yes/no questions that they are all."""
    more = {f"q{number}": ("yes", "no") for number in range(questions - len(ASKED))}
    attributes = [
        {"name": name, "role": "sensitive", "protocol": protocol, "categories": list(categories)}
        for name, categories in {**ASKED, **more}.items()
    ]
    document = {"name": "s", "version": 1, "title": "s", "epsilon": epsilon}
    return Manifest.from_dict({**document, "attributes": attributes}).resolve()


def truth_of(effect: Effect, k: int, groups: int) -> npt.NDArray[np.float64]:
    """Return true joint shares f64[k, groups] with groups of one size.

    Without an effect answers are even and independent. With the largest one half of the groups
    gives the first answer alone, and the others the last.
    """
    if effect == "none":
        return np.full((k, groups), 1 / (k * groups))
    truth = np.zeros((k, groups))
    for group in range(groups):
        truth[0 if 2 * group < groups else k - 1, group] = 1 / groups
    return truth


def drawn(
    published: Published,
    names: tuple[str, str],
    truth: npt.NDArray[np.float64],
    n: int,
    rng: np.random.Generator,
) -> OfCounts:
    """Return the counts of a survey of two questions."""
    codes = np.repeat(np.arange(truth.size), rng.multinomial(n, truth.ravel()))
    first, second = (published.attribute(name) for name in names)
    a, b = np.divmod(codes, truth.shape[1])
    counts = JointCounts.of(_perturbed(first, a, rng), _perturbed(second, b, rng))
    support = {names[0]: counts.first, names[1]: counts.second}
    return OfCounts(published, PairCounts(Counts(n, support), {names: counts.both}))


def _perturbed(
    attribute: PublishedAttribute, codes: Codes, rng: np.random.Generator
) -> npt.NDArray[np.uint8]:
    assert attribute.oracle is not None
    return indicators(attribute.oracle, perturb(attribute.oracle, codes, rng))


def study_part(
    part: Part, setting: tuple[int, str, str, int], surveys: int, key: Sequence[int]
) -> Iterator[Row]:
    """Yield the rows of a part in a setting, without an effect and with the largest."""
    questions, protocol, epsilon, n = setting
    published = survey(questions, protocol, epsilon)
    names = part.pair
    k, groups = (published.attribute(name).k for name in names)
    for effect in EFFECTS:
        truth = truth_of(effect, k, groups)
        rng = np.random.default_rng([*key, EFFECTS.index(effect)])
        verdicts: Counter[Says] = Counter()
        seen = []
        for _ in range(surveys):
            result = result_of(part.query, drawn(published, names, truth, n, rng))
            verdicts[TOO_NOISY if result.too_noisy(part.name) else INFORMATIVE] += 1
            seen.append(part.read(result, truth))
        title = f"{questions} questions, {protocol}, ε = {epsilon}, n = {n:,}"
        yield _row(part, title, effect, verdicts, seen)


def _row(
    part: Part, setting: str, effect: Effect, verdicts: Counter[Says], seen: Sequence[Seen]
) -> Row:
    ((verdict, given),) = verdicts.most_common(1)
    surveys = len(seen)
    reached = covered = found = None
    if part.most is not None:
        intervals = [one.intervals for one in seen if one.intervals is not None]
        reached = median(one.reach for each in intervals for one in each) / part.most
        covered = float(np.mean([[one.covers for one in each] for each in intervals]))
    if seen[0].found is not None:
        found = sum(bool(one.found) for one in seen) / surveys
    right = is_right(verdict, effect, reached, covered, found, surveys)
    return Row(
        part=part.title,
        setting=setting,
        effect=effect,
        verdict=verdict,
        given=given / surveys,
        reached=None if reached is None or np.isinf(reached) else reached,
        covered=covered,
        found=found,
        surveys=surveys,
        right=right,
    )


def is_right(
    verdict: Says,
    effect: Effect,
    reached: float | None,
    covered: float | None,
    found: float | None,
    surveys: int,
) -> bool:
    """Return whether a verdict is right; shares of surveys may be four standard errors off."""

    def off(share: float) -> float:
        return 4 * float(np.sqrt(share * (1 - share) / surveys))

    holds = covered is None or covered >= LEVEL - off(LEVEL)
    if verdict == INFORMATIVE:
        tells = reached is None or reached <= 1
        if found is not None:
            least, most = (0.0, 1 - LEVEL) if effect == "none" else (POWER, 1.0)
            tells = tells and least - off(POWER) <= found <= most + off(LEVEL)
        return tells and holds
    if reached is not None:
        return reached > 1 and holds
    assert found is not None
    # of a test that is too noisy, a finding without an effect must be as rare as its level says
    return found <= 1 - LEVEL + off(LEVEL) if effect == "none" else found < POWER


def run_study(*, surveys: int, seed: int = SEED) -> list[Row]:
    """Return the rows of all parts in all settings.

    Parameters
    ----------
    surveys : int
        Of each part, setting and effect, at least 2.
    seed : int
        Of respondents and noise.
    """
    return [
        row
        for number, setting in enumerate(SETTINGS)
        for place, part in enumerate(PARTS)
        for row in study_part(part, setting, surveys, (seed, number, place))
    ]


def markdown(rows: Sequence[Row]) -> str:
    """Return how often verdicts were given and right, then the rows of the first setting.

    Verdicts that were wrong follow. Shares are in percent.
    """
    lines = [
        "| part | effect | verdict | settings, of these right | half-widths, of what tells "
        "| covered, the least | found |",
        "|---|---|---|---|---|---|---|",
    ]
    kinds = dict.fromkeys((row.part, row.effect, row.verdict) for row in rows)
    for kind in sorted(
        kinds, key=lambda one: ([part.title for part in PARTS].index(one[0]), one[1:])
    ):
        same = [row for row in rows if (row.part, row.effect, row.verdict) == kind]
        right = sum(row.right for row in same)
        lines.append(
            f"| {' | '.join(kind)} | {len(same)}, {right} | {_range(row.reached for row in same)} "
            f"| {_least(row.covered for row in same)} | {_range(row.found for row in same)} |"
        )
    lines += ["", *_table(row for row in rows if row.setting == rows[0].setting)]
    wrong = [row for row in rows if not row.right or row.given < 1]
    if wrong:
        lines += ["", "Wrong:", "", *_table(wrong)]
    return "\n".join(lines)


def _table(rows: Iterable[Row]) -> list[str]:
    """Return rows as a table in Markdown."""
    return [
        "| part | setting | effect | verdict | half-width, of what tells | covered | found |",
        "|---|---|---|---|---|---|---|",
        *(
            f"| {row.part} | {row.setting} | {row.effect} | {row.verdict} "
            f"| {_range([row.reached])} | {_range([row.covered])} | {_range([row.found])} |"
            for row in rows
        ),
    ]


def _range(shares: Iterable[float | None]) -> str:
    """Return the smallest and the largest of shares in percent."""
    known = [f"{100 * share:.0f}" for share in sorted(one for one in shares if one is not None)]
    return " to ".join(dict.fromkeys(known[:1] + known[-1:]))


def _least(shares: Iterable[float | None]) -> str:
    """Return the mean and the smallest of shares in percent."""
    known = [share for share in shares if share is not None]
    return f"{100 * np.mean(known):.1f}, {100 * min(known):.1f}" if known else ""


main = study_command(
    run_study,
    markdown,
    help="Set verdicts beside surveys without an effect, and with the largest that there can be.",
    seed=SEED,
    surveys=SURVEYS,
)


if __name__ == "__main__":
    main()
