"""Do intervals of statistics over blocks and follow-ups cover, and do tests keep their level?

One survey has a question with two follow-ups and a fourth question in one block, so that the
answers of most questions stand for different numbers of combinations; two questions apart; and one
in clear. Every statistic of one or several questions is computed from the same records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hushpoll_analysis import (
    CellValues,
    SurveyDesign,
    answered_shares,
    change,
    conditional_shares,
    cross_table,
    frequencies,
    independence,
    ordered_summary,
    weighted_shares,
)
from hushpoll_analysis.auditing.audit import audit
from hushpoll_analysis.auditing.predictions import AuditPredictions
from hushpoll_analysis.estimates.interval import Interval
from hushpoll_analysis.records.records import Records
from hushpoll_analysis.relations.three_way import three_way_table
from hushpoll_shared import Manifest
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.batch import encode_many
from studies.command import study_command

Array = npt.NDArray[np.float64]
Codes = dict[str, npt.NDArray[np.int64]]
Ends = tuple[Array, Array, Array]
"""Lower and upper ends, and the truth; of a test its p-value, 1 and its level."""

SEED = 2026
N = 3_000
PROTOCOLS = ("GRR", "SS", "OUE", "OLH")
EPSILON = "6"
NAMES = ("smokes", "amount", "years", "age", "gender", "income", "area")

SMOKES = 0.4
AMOUNT = np.array([0.5, 0.3, 0.2])
YEARS = np.array([0.4, 0.6, 0.8])
"""Chance of the second answer to years, by amount."""
AGE = np.array([0.35, 0.65])
MALE = np.array([0.4, 0.6])
"""By smokes."""
INCOME = np.array([0.3, 0.5, 0.2])
AREA = np.array([[0.3, 0.45], [0.5, 0.7]])
"""Chance of the second area, by gender and smokes."""


def survey(protocol: str, protected: str = "gender", target: str = "smokes") -> Published:
    """Return the survey, with its groups and its target among the questions of two answers."""
    asked = {"ask_if": {"smokes": ["yes"]}}
    questions: list[dict[str, Any]] = [
        {"name": "smokes", "categories": ["no", "yes"]},
        {"name": "amount", "range": [1, 3], **asked},
        {"name": "years", "range": [1, 2], **asked},
        {"name": "age", "categories": ["young", "old"]},
        {"name": "gender", "categories": ["Female", "Male"]},
        {"name": "income", "range": [1, 3]},
    ]
    for question in questions:
        question["role"] = "target" if question["name"] == target else "sensitive"
        if question["name"] == target:
            question["positive"] = question["categories"][1]
            question["protocol"] = protocol
    area = {"name": "area", "role": "plain", "categories": ["town", "land"]}
    groups = next(one["categories"] for one in questions if one["name"] == protected)
    draft = {
        "name": "s",
        "version": 1,
        "title": "S",
        "epsilon": EPSILON,
        "protocol": protocol,
        "attributes": [*questions, area],
        "together": [{"name": "habits", "attributes": ["smokes", "amount", "years", "age"]}],
        "protected": {"attribute": protected, "unprivileged": groups[0], "privileged": groups[1]},
    }
    return Manifest.from_dict(draft).resolve()


def population() -> Array:
    """Return the shares of all people by their answers, in the order of `NAMES`."""
    table = np.zeros((2, 4, 3, 2, 2, 3, 2))
    for place in np.ndindex(table.shape):
        smokes, amount, years, age, gender, income, area = place
        share = (SMOKES if smokes else 1 - SMOKES) * AGE[age] * INCOME[income]
        if smokes:
            if amount == 3 or years == 2:
                continue
            share *= AMOUNT[amount] * (YEARS[amount] if years else 1 - YEARS[amount])
        elif amount < 3 or years < 2:
            continue
        share *= MALE[smokes] if gender else 1 - MALE[smokes]
        table[place] = share * (AREA[gender, smokes] if area else 1 - AREA[gender, smokes])
    return table


def margin(table: Array, *names: str) -> Array:
    """Return the shares of the answers to some questions."""
    places = [NAMES.index(name) for name in names]
    left = table.sum(axis=tuple(place for place in range(len(NAMES)) if place not in places))
    kept = sorted(places)
    return np.asarray(left.transpose([kept.index(place) for place in places]))


@dataclass(frozen=True)
class Drawn:
    """One survey: the answers of its respondents, and their records."""

    codes: Codes
    rows: npt.NDArray[np.uint8]
    protocol: str

    def records(self, protected: str = "gender", target: str = "smokes") -> Records:
        """Return the records, of a survey that differs in its groups and its target alone."""
        return Records.trusted(survey(self.protocol, protected, target), self.rows)


def draw(protocol: str, table: Array, n: int, rng: np.random.Generator) -> Drawn:
    """Draw respondents, and their records."""
    cells = rng.choice(table.size, n, p=table.ravel() / table.sum())
    codes = dict(zip(NAMES, np.unravel_index(cells, table.shape), strict=True))
    given = {name: np.asarray(values, np.int64) for name, values in codes.items()}
    return Drawn(given, encode_many(survey(protocol), given, rng), protocol)


def _ends(one: Any, truth: Array) -> Ends:
    return np.asarray(one.lower), np.asarray(one.upper), truth


def of_intervals(intervals: Sequence[Interval], truth: Sequence[float] | Array) -> Ends:
    lower, upper = ([getattr(one, end) for one in intervals] for end in ("lower", "upper"))
    return np.array(lower), np.array(upper), np.asarray(truth)


def _shares(table: Array, drawn: Drawn) -> Ends:
    found = next(one for one in frequencies(drawn.records()) if one.name == "years")
    return _ends(found, margin(table, "years"))


def _asked(table: Array, drawn: Drawn) -> Ends:
    (found,) = answered_shares(drawn.records(), attributes=["amount"])
    shares = margin(table, "amount")
    truth = np.append(shares[:3] / shares[:3].sum(), shares[:3].sum())
    return of_intervals([*found.shares, found.answered], truth)  # type: ignore[list-item]


def _table(a: str, b: str) -> Callable[[Array, Drawn], Ends]:
    def of(table: Array, drawn: Drawn) -> Ends:
        return _ends(cross_table(drawn.records(), a, b), margin(table, a, b))

    return of


def _conditional(a: str, b: str) -> Callable[[Array, Drawn], Ends]:
    def of(table: Array, drawn: Drawn) -> Ends:
        both = margin(table, b, a)
        truth = both / both.sum(axis=1, keepdims=True)
        return _ends(conditional_shares(drawn.records(), a, b).shares, truth)

    return of


def _differences(a: str, b: str, reference: str) -> Callable[[Array, Drawn], Ends]:
    def of(table: Array, drawn: Drawn) -> Ends:
        records = drawn.records()
        both = margin(table, b, a)
        truth = both / both.sum(axis=1, keepdims=True)
        place = records.published.attribute(b).domain.index(reference)
        found = conditional_shares(records, a, b, reference=reference).differences
        others = [code for code in range(len(truth)) if code != place]
        assert found is not None
        return found.lower[others], found.upper[others], (truth - truth[place])[others]

    return of


def _three(a: str, b: str, c: str) -> Callable[[Array, Drawn], Ends]:
    def of(table: Array, drawn: Drawn) -> Ends:
        return _ends(three_way_table(drawn.records(), a, b, c), margin(table, a, b, c))

    return of


def _means(of: str, given: str) -> Callable[[Array, Drawn], Ends]:
    def found(table: Array, drawn: Drawn) -> Ends:
        records = drawn.records()
        summary = ordered_summary(records, of, given=given)
        m = len(records.published.attribute(of).categories)
        both = margin(table, given, of)[:, :m]
        people = both.sum(axis=1)
        means = both @ np.arange(1, m + 1) / np.where(people > 0, people, 1.0)
        kept = [place for place, share in enumerate(people) if share > 0]
        return of_intervals([summary.groups[place].mean for place in kept], means[kept])

    return found


def _weighted(of: str, by: str) -> Callable[[Array, Drawn], Ends]:
    def found(table: Array, drawn: Drawn) -> Ends:
        records = drawn.records()
        known = dict(zip(records.published.attribute(by).domain, margin(table, by), strict=True))
        design = SurveyDesign(margins=(CellValues((by,), known),))
        return _ends(weighted_shares(records, of, design).shares, margin(table, of))

    return found


def _change(table: Array, drawn: Drawn) -> Ends:
    records = drawn.records()
    half = len(records.rows) // 2
    before, after = (
        Records.trusted(records.published, records.rows[part])
        for part in (slice(None, half), slice(half, None))
    )
    del table
    labels = {"1": "some", "2": "many", "3": "many"}
    found = change(before, after, "amount", mapping=labels, before_mapping=labels)
    gaps = [difference for _, _, difference in found.shares.values()]
    return of_intervals(gaps, np.zeros(len(gaps)))


def _audit(protected: str, target: str) -> Callable[[Array, Drawn], Ends]:
    def of(table: Array, drawn: Drawn) -> Ends:
        given = AuditPredictions(drawn.codes["area"], ("area",), "external")
        found = audit(drawn.records(protected, target), given, outlook=False)
        people = margin(table, protected, target, "area")  # [group, label, prediction]
        groups = people.sum(axis=(1, 2))
        positive = people[:, :, 1].sum(axis=1) / groups
        right = (people[:, 1, 1] + people[:, 0, 0]) / groups
        hits = people[:, 1, 1] / people[:, 1].sum(axis=1)
        truth = {
            "DI": positive[0] / positive[1],
            "SPD": positive[1] - positive[0],
            "EOD": hits[1] - hits[0],
            "OAD": right[1] - right[0],
        }
        sets = [found.metrics[name] for name in truth]
        shares = [found.shares["unprivileged"], found.shares["privileged"]]
        every = [*sets, *shares]
        return of_intervals(every, [*truth.values(), *groups])  # type: ignore[arg-type]

    return of


def _level(a: str, b: str) -> Callable[[Array, Drawn], Ends]:
    def of(table: Array, drawn: Drawn) -> Ends:
        del table
        p_value = independence(drawn.records(), a, b).p_value
        return np.array([0.05]), np.array([1.0]), np.array([p_value])

    return of


STATISTICS: dict[str, Callable[[Array, Drawn], Ends]] = {
    "shares of a follow-up": _shares,
    "shares among those asked, and who was": _asked,
    "table of a follow-up and its router": _table("amount", "smokes"),
    "table of two follow-ups": _table("amount", "years"),
    "table with another block": _table("amount", "gender"),
    "table with a question in clear": _table("area", "amount"),
    "follow-up among groups of another block": _conditional("amount", "gender"),
    "another block among answers to a router": _conditional("gender", "smokes"),
    "among those asked": _conditional("amount", "smokes"),
    "differences between answers to a follow-up": _differences("gender", "amount", "not asked"),
    "differences between groups of another block": _differences("years", "gender", "Male"),
    "mean of a follow-up among groups of another block": _means("amount", "gender"),
    "mean of another block among answers to a router": _means("income", "smokes"),
    "mean of a follow-up among answers to another": _means("years", "amount"),
    "three questions apart": _three("smokes", "gender", "income"),
    "router, follow-up and a question apart": _three("gender", "smokes", "years"),
    "follow-up weighted by another block": _weighted("amount", "gender"),
    "another block weighted by a router": _weighted("gender", "smokes"),
    "change of a follow-up, answers merged": _change,
    "audit, label in a block with follow-ups": _audit("gender", "smokes"),
    "audit, group in a block with follow-ups": _audit("smokes", "gender"),
    "audit, both in a block with follow-ups": _audit("age", "smokes"),
    "independence of a follow-up and another block": _level("amount", "income"),
    "independence in a block with follow-ups": _level("amount", "age"),
}
"""By what is computed. A test covers where it does not reject at 5 %."""


@dataclass(frozen=True, slots=True)
class Row:
    """How one statistic did.

    Attributes
    ----------
    protocol, statistic : str
        Which.
    covered, least : float
        Share of the bounded intervals that held the truth: of all, and of the worst one.
    unbounded : float
        Share of the intervals without a bound.
    """

    protocol: str
    statistic: str
    covered: float
    least: float
    unbounded: float


def run_study(
    surveys: int,
    seed: int,
    *,
    protocols: Sequence[str] = PROTOCOLS,
    statistics: Sequence[str] = tuple(STATISTICS),
    n: int = N,
) -> list[Row]:
    """Return a row per protocol and statistic."""
    table = population()
    rows: list[Row] = []
    for protocol in protocols:
        found: dict[str, list[Ends]] = {name: [] for name in statistics}
        for number in range(surveys):
            drawn = draw(protocol, table, n, np.random.default_rng([seed, number]))
            for name in statistics:
                found[name].append(STATISTICS[name](table, drawn))
        rows += (row_of(protocol, name, ends) for name, ends in found.items())
    return rows


def row_of(protocol: str, name: str, ends: Sequence[Ends]) -> Row:
    lower, upper, truth = (np.array([each[part] for each in ends]) for part in range(3))
    # where nobody can be, the share is 0 and known
    lower, upper, truth = (part.reshape(len(ends), -1) for part in (lower, upper, truth))
    bounded = np.isfinite(lower) & np.isfinite(upper)
    held = bounded & (lower - 1e-9 <= truth) & (truth <= upper + 1e-9)
    told = bounded.sum(axis=0)
    each = held.sum(axis=0) / np.maximum(told, 1)
    random = (upper > lower).any(axis=0) & (told >= len(ends) / 2)
    return Row(
        protocol,
        name,
        float(held[:, random].sum() / told[random].sum()),
        float(each[random].min()),
        float(1 - bounded.mean()),
    )


def markdown(rows: Sequence[Row]) -> str:
    """Return the table: a line per statistic, with the coverage and the worst by protocol."""
    protocols = list(dict.fromkeys(row.protocol for row in rows))
    lines = [
        "| covered, and the worst | " + " | ".join(protocols) + " |",
        "|---|" + "---|" * len(protocols),
    ]
    for name in dict.fromkeys(row.statistic for row in rows):
        cells = [_words(row) for row in rows if row.statistic == name]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _words(row: Row) -> str:
    unbounded = f" ({100 * row.unbounded:.0f} % unbounded)" if row.unbounded >= 0.005 else ""
    return f"{100 * row.covered:.1f}, {100 * row.least:.1f}{unbounded}"


main = study_command(
    run_study,
    markdown,
    help="Measure the coverage of statistics over blocks and follow-ups.",
    seed=SEED,
    surveys=300,
    cells={"protocols": PROTOCOLS, "statistics": tuple(STATISTICS)},
)

if __name__ == "__main__":
    main()
