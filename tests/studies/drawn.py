"""Do intervals cover that are of questions in draws, of numbers and of select-alls?

One survey has a draw of which a device answers three blocks of five: a question with a follow-up, a
select-all, a number, and two questions alone. A second select-all is a draw of its own, and a
question and a number stand outside. ``scripts/coverage-study --draws`` runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from hushpoll_analysis.query_results import result_of
from hushpoll_analysis.records.records import Records
from hushpoll_analysis.records.source import OfRecords
from hushpoll_shared import Manifest
from hushpoll_shared.queries.simultaneous_estimates import Simultaneous
from hushpoll_shared.queries.simultaneous_means import SimultaneousMeans
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.batch import encode_many
from studies.blocks import Ends, Row, markdown, of_intervals, row_of
from studies.command import study_command

Codes = dict[str, npt.NDArray[np.int64]]
Statistic = Callable[[Codes, Records, Codes], Ends]
"""From all people, the records of some, and the answers of those."""

SEED = 2030
N = 4_000
PEOPLE = 400_000
PROTOCOLS = ("GRR", "SS")
EPSILON = "16"
NEWS, FEARS = ("news_1", "news_2", "news_3"), ("fears_1", "fears_2", "fears_3", "fears_4")


def survey(protocol: str) -> Published:
    """Return the survey."""
    yes_no = {"role": "sensitive", "categories": ["no", "yes"]}
    options = {"role": "sensitive", "categories": ["a", "b", "c"]}
    attributes: list[dict[str, Any]] = [
        {"name": "smokes", **yes_no},
        {"name": "amount", "role": "sensitive", "range": [1, 3], "ask_if": {"smokes": ["yes"]}},
        {"name": "gender", "role": "sensitive", "categories": ["Female", "Male"]},
        {"name": "age", "role": "sensitive", "range": [1, 3]},
        {"name": "vote", **yes_no, "role": "target", "positive": "yes", "protocol": protocol},
        {"name": "rent", "role": "sensitive", "number": {"low": 0, "high": 60}},
        {"name": "pay", "role": "sensitive", "number": {"low": 0, "high": 100}},
        {"name": "news", **options, "select": {"at_most": 2}, "want": "pairs"},
        {"name": "fears", **options, "categories": [*"abcd"], "select": {}, "want": "shares"},
        {"name": "area", "role": "plain", "categories": ["town", "land"]},
    ]
    draft = {
        "name": "s",
        "version": 1,
        "title": "S",
        "epsilon": EPSILON,
        "protocol": protocol,
        "attributes": attributes,
        "together": [
            {"name": "habits", "attributes": ["smokes", "amount"]},
            {"name": "sides", "attributes": ["gender", "vote"]},
        ],
        "draws": [
            {"name": "rota", "blocks": ["habits", "sides", "rent", "news"], "answer": 3},
        ],
        "protected": {"attribute": "gender", "unprivileged": "Female", "privileged": "Male"},
    }
    return Manifest.from_dict(draft).resolve()


def population(seed: int = 1, n: int = PEOPLE) -> Codes:
    """Return the answers of all people, of whom respondents are drawn."""
    rng = np.random.default_rng(seed)
    gender = rng.binomial(1, 0.55, n)
    smokes = (rng.random(n) < np.where(gender == 1, 0.5, 0.35)).astype(np.int64)
    age = rng.choice(3, n, p=[0.3, 0.4, 0.3])
    vote = (rng.random(n) < 0.35 + 0.1 * gender + 0.1 * smokes).astype(np.int64)
    amount = np.where(smokes == 1, rng.choice(3, n, p=[0.5, 0.3, 0.2]), 3)
    codes = {"smokes": smokes, "amount": amount, "gender": gender, "age": age, "vote": vote}
    codes["rent"] = np.clip(rng.normal(25 + 5 * smokes, 10, n), 0, 60).astype(np.int64)
    codes["pay"] = np.clip(np.exp(rng.normal(3.4, 0.5, n)) + 5 * gender, 0, 100).astype(np.int64)
    # of three, at most two; of four, any
    chosen = rng.choice(7, n, p=[0.1, 0.2, 0.2, 0.1, 0.2, 0.1, 0.1])
    sets = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1]])
    codes |= {name: sets[chosen, place] for place, name in enumerate(NEWS)}
    codes |= {
        name: (rng.random(n) < 0.3 + 0.1 * place).astype(np.int64)
        for place, name in enumerate(FEARS)
    }
    codes["area"] = (rng.random(n) < 0.3 + 0.3 * vote).astype(np.int64)
    return codes


def _parts(codes: Codes, name: str, k: int) -> npt.NDArray[np.float64]:
    return np.bincount(codes[name], minlength=k)[:k] / len(codes[name])


def _of(codes: Codes, kept: npt.NDArray[np.bool_]) -> Codes:
    return {name: values[kept] for name, values in codes.items()}


def _shares(*names: str) -> Statistic:
    def of(everybody: Codes, records: Records, _: Codes) -> Ends:
        found = {one.name: one for one in frequencies(records)}
        sizes = {name: len(found[name].frequency) for name in names}
        lower, upper = (
            np.concatenate([getattr(found[name], end) for name in names])
            for end in ("lower", "upper")
        )
        truth = np.concatenate([_parts(everybody, name, k) for name, k in sizes.items()])
        return lower, upper, truth

    return of


def _asked(everybody: Codes, records: Records, _: Codes) -> Ends:
    (found,) = answered_shares(records, attributes=["amount"])
    own = _parts(everybody, "amount", 3)
    truth = np.append(own / own.sum(), own.sum())
    return of_intervals([*found.shares, found.answered], truth)  # type: ignore[list-item]


def _table(a: str, b: str) -> Statistic:
    def of(everybody: Codes, records: Records, _: Codes) -> Ends:
        found = cross_table(records, a, b)
        truth = np.zeros(np.shape(found.frequency))
        np.add.at(truth, (everybody[a], everybody[b]), 1 / len(everybody[a]))
        return np.asarray(found.lower), np.asarray(found.upper), truth

    return of


def _within(a: str, b: str) -> Statistic:
    def of(everybody: Codes, records: Records, _: Codes) -> Ends:
        found = conditional_shares(records, a, b).shares
        k = np.shape(found.lower)[1]
        groups = range(np.shape(found.lower)[0])
        truth = [_parts(_of(everybody, everybody[b] == code), a, k) for code in groups]
        return np.asarray(found.lower), np.asarray(found.upper), np.array(truth)

    return of


def _gaps(a: str, b: str, reference: str) -> Statistic:
    def of(everybody: Codes, records: Records, _: Codes) -> Ends:
        found = conditional_shares(records, a, b, reference=reference).differences
        place = records.published.attribute(b).domain.index(reference)
        assert found is not None
        groups, k = np.shape(found.lower)
        own = np.array([_parts(_of(everybody, everybody[b] == c), a, k) for c in range(groups)])
        others = [code for code in range(groups) if code != place]
        return found.lower[others], found.upper[others], (own - own[place])[others]

    return of


def _means(of: str, given: str | None = None) -> Statistic:
    number = of in ("rent", "pay")

    def found(everybody: Codes, records: Records, _: Codes) -> Ends:
        summary = ordered_summary(records, of, given=given, quantiles=())
        values = everybody[of] + (0 if number else 1)
        groups = [np.ones(len(values), bool)]
        if given is not None:
            groups = [everybody[given] == code for code in range(len(summary.groups))]
        truth = [float(values[kept].mean()) for kept in groups]
        return of_intervals([group.mean for group in summary.groups], truth)

    return found


def _weighted(of: str, by: str) -> Statistic:
    def found(everybody: Codes, records: Records, _: Codes) -> Ends:
        domain = records.published.attribute(by).domain
        known = dict(zip(domain, _parts(everybody, by, len(domain)), strict=True))
        shares = weighted_shares(
            records, of, SurveyDesign(margins=(CellValues((by,), known),))
        ).shares
        k = len(shares.lower)
        return np.asarray(shares.lower), np.asarray(shares.upper), _parts(everybody, of, k)

    return found


def _change(_: Codes, records: Records, __: Codes) -> Ends:
    half = len(records.rows) // 2
    before, after = (
        Records.trusted(records.published, records.rows[part])
        for part in (slice(None, half), slice(half, None))
    )
    gaps = [difference for _, _, difference in change(before, after, "news_1").shares.values()]
    return of_intervals(gaps, np.zeros(len(gaps)))


def _audit(everybody: Codes, records: Records, drawn: Codes) -> Ends:
    found = audit(records, AuditPredictions(drawn["area"], ("area",), "external"), outlook=False)
    sets, truth = [], []
    positive = [_of(everybody, everybody["gender"] == group) for group in (0, 1)]
    hits = [_of(one, one["vote"] == 1) for one in positive]
    right = [(one["area"] == one["vote"]).mean() for one in positive]
    for name, value in {
        "SPD": positive[1]["area"].mean() - positive[0]["area"].mean(),
        "DI": positive[0]["area"].mean() / positive[1]["area"].mean(),
        "EOD": hits[1]["area"].mean() - hits[0]["area"].mean(),
        "OAD": right[1] - right[0],
    }.items():
        sets.append(found.metrics[name])
        truth.append(float(value))
    return of_intervals(sets, truth)


def _all_at_once(everybody: Codes, records: Records, _: Codes) -> Ends:
    """Whether all intervals of a question hold at once, as one row that covers or not."""
    found = result_of(Simultaneous(attribute="amount"), OfRecords(records)).attributes
    (one,) = found
    truth = _parts(everybody, "amount", 4)
    held = [row.lower <= t <= row.upper for row, t in zip(one.categories, truth, strict=True)]
    return np.array([0.0]), np.array([1.0]), np.array([0.5 if all(held) else 2.0])


def _means_at_once(everybody: Codes, records: Records, _: Codes) -> Ends:
    query = SimultaneousMeans(attributes=["rent", "pay"])
    found = result_of(query, OfRecords(records)).means
    held = [one.lower <= everybody[one.attribute].mean() <= one.upper for one in found]
    return np.array([0.0]), np.array([1.0]), np.array([0.5 if all(held) else 2.0])


def _level(a: str, b: str) -> Statistic:
    def of(_: Codes, records: Records, __: Codes) -> Ends:
        p_value = independence(records, a, b).p_value
        return np.array([0.05]), np.array([1.0]), np.array([p_value])

    return of


STATISTICS: Mapping[str, Statistic] = {
    "shares of a drawn question and its follow-up": _shares("smokes", "amount"),
    "shares among those asked, drawn": _asked,
    "shares of a drawn select-all in one block": _shares(*NEWS),
    "shares of a select-all that is a draw": _shares(*FEARS),
    "two options of one block": _table("news_1", "news_2"),
    "table in a drawn block": _table("gender", "vote"),
    "table across two drawn blocks": _table("smokes", "vote"),
    "table of a drawn question and one outside": _table("amount", "age"),
    "shares in groups across drawn blocks": _within("vote", "smokes"),
    "an option among groups of another block": _within("news_2", "gender"),
    "differences between groups in a drawn block": _gaps("vote", "gender", "Male"),
    "mean of a drawn number": _means("rent"),
    "mean of a number outside": _means("pay"),
    "mean of a number among drawn groups": _means("pay", "gender"),
    "mean of a drawn number among drawn groups": _means("rent", "smokes"),
    "mean of an ordered question among drawn groups": _means("age", "vote"),
    "drawn question weighted by one outside": _weighted("smokes", "age"),
    "change of a drawn option": _change,
    "audit, both in a drawn block": _audit,
    "all shares of a follow-up at once": _all_at_once,
    "means of two numbers at once": _means_at_once,
    "independence of a drawn option and a question outside": _level("news_1", "age"),
    "independence across drawn blocks": _level("news_3", "smokes"),
}
"""By what is computed. A test covers where it does not reject at 5 %."""


def run_study(
    surveys: int,
    seed: int,
    *,
    protocols: Sequence[str] = PROTOCOLS,
    statistics: Sequence[str] = tuple(STATISTICS),
    n: int = N,
) -> list[Row]:
    """Return a row per protocol and statistic."""
    everybody = population()
    rows: list[Row] = []
    for protocol in protocols:
        published = survey(protocol)
        found: dict[str, list[Ends]] = {name: [] for name in statistics}
        for number in range(surveys):
            rng = np.random.default_rng([seed, number])
            some = rng.integers(0, PEOPLE, n)
            drawn = {name: values[some] for name, values in everybody.items()}
            records = Records.trusted(published, encode_many(published, drawn, rng))
            for name in statistics:
                found[name].append(STATISTICS[name](everybody, records, drawn))
        rows += (row_of(protocol, name, ends) for name, ends in found.items())
    return rows


main = study_command(
    run_study,
    markdown,
    help="Measure the coverage of statistics of draws, numbers and select-alls.",
    seed=SEED,
    surveys=100,
    cells={"protocols": PROTOCOLS, "statistics": tuple(STATISTICS)},
)

if __name__ == "__main__":
    main()
