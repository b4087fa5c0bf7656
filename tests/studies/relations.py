"""Do intervals of answers about several questions cover, and do tests keep their level?

Each setting draws surveys anew, respondents and noise together, and asks the functions themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_analysis import (
    AuditPredictions,
    Interval,
    Records,
    audit_groups,
    change,
    conditional_shares,
    cross_table,
    dependencies,
    independence,
    likelihood_table,
    simultaneous_estimates,
    three_way_table,
)
from hushpoll_analysis.multiplicity.simultaneous import Method
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.wire.batch import encode_many
from relations_survey import draw, survey
from studies.command import study_command

Array = npt.NDArray[np.float64]
Question = tuple[str | None, int, str]

SEED = 2026


@dataclass(frozen=True, slots=True)
class Row:
    """What one kind of answer did in one setting.

    Attributes
    ----------
    answer, setting : str
        In words.
    covered, least : float
        Share of intervals that held the truth, over all of them and of the worst one; of a test,
        the share of surveys that it rejected, twice.
    expected : str
        What the share should be.
    unbounded : float
        Share of the intervals without a bound, which count as covering.
    error : float or None
        Standard error of `covered`, by the number of surveys; None of a ratio of errors.
    """

    answer: str
    setting: str
    covered: float
    least: float
    expected: str
    unbounded: float = 0.0
    error: float | None = None

    @classmethod
    def of_chance(cls, answer: str, setting: str, share: float, surveys: int, expected: str) -> Row:
        """Return the row of what happened in a share of so many surveys."""
        return cls(answer, setting, share, share, expected, 0.0, _error(share, surveys))


def conditioned(shares: Sequence[float], tilt: float, k: int) -> Array:
    """Return a joint distribution f64[k, groups] whose shares differ between the groups."""
    rows = np.array([np.linspace(1.0, 1.0 + tilt * group, k) for group in range(len(shares))])
    rows /= rows.sum(axis=1, keepdims=True)
    return np.asarray((rows * np.array(shares)[:, None]).T)


SHARES: tuple[tuple[Question, Question, int, tuple[float, ...]], ...] = (
    (("OUE", 2, "1"), ("GRR", 2, "1"), 5000, (0.5, 0.5)),
    (("GRR", 3, "2"), ("GRR", 4, "2"), 2000, (0.25, 0.25, 0.25, 0.25)),
    ((None, 3, ""), ("OLH", 4, "2"), 2000, (0.25, 0.25, 0.25, 0.25)),
    (("SS", 5, "4"), (None, 3, ""), 500, (0.3, 0.3, 0.4)),
    (("GRR", 2, "3"), ("OUE", 3, "3"), 1000, (0.03, 0.47, 0.5)),
    ((None, 2, ""), ("GRR", 3, "4"), 400, (0.03, 0.47, 0.5)),
)
"""The attribute, the groups', respondents and shares of the groups."""


def words(questions: Sequence[Question], n: int) -> str:
    """Return a setting in words."""
    each = [
        f"{protocol}, k = {k}, ε = {epsilon}" if protocol else f"in clear, k = {k}"
        for protocol, k, epsilon in questions
    ]
    return f"{'; '.join(each)}; n = {n:,}"


def covering(
    answer: str,
    setting: str,
    surveys: Iterator[tuple[Array, Array]],
    truth: Array,
    expected: str = "95 %",
) -> Row:
    """Return the row of intervals (lower, upper) of many surveys."""
    held, unbounded, number = np.zeros(truth.shape), 0.0, 0
    # Intervals of one survey miss together, so the error is that of their mean in each survey.
    total = squares = 0.0
    for lower, upper in surveys:
        holds = (lower <= truth + 1e-12) & (truth - 1e-12 <= upper)
        held += holds
        total += float(holds.mean())
        squares += float(holds.mean()) ** 2
        unbounded += float((~np.isfinite(lower) | ~np.isfinite(upper)).mean())
        number += 1
    share, mean = held / number, total / number
    error = np.sqrt(max(squares / number - mean**2, 0.0) / number)
    return Row(
        answer, setting, mean, float(share.min()), expected, unbounded / number, float(error)
    )


def _error(share: float, surveys: int) -> float:
    return float(np.sqrt(share * (1 - share) / surveys))


def study_shares(surveys: int, seed: int) -> Iterator[Row]:
    """Yield the rows of conditional shares and of their differences."""
    for number, (first, second, n, groups) in enumerate(SHARES):
        published, joint = survey(first, second), conditioned(groups, 1.0, first[1])
        truth = (joint / joint.sum(axis=0)).T
        reference = str(second[1])
        answers = [
            conditional_shares(
                draw(published, joint, n, [seed, number, each])[1], "a", "b", reference=reference
            )
            for each in range(surveys)
        ]
        title = words((first, second), n) + (", a group of 3 %" if min(groups) < 0.1 else "")
        yield covering(
            "share in a group",
            title,
            ((each.shares.lower, each.shares.upper) for each in answers),
            truth,
        )
        differences = [each.differences for each in answers if each.differences is not None]
        yield covering(
            "difference of two groups",
            title,
            ((each.lower[:-1], each.upper[:-1]) for each in differences),
            (truth - truth[-1])[:-1],
        )


def study_independence(surveys: int, seed: int) -> Iterator[Row]:
    """Yield level and power of the test of independence."""
    for number, (first, second, n, groups) in enumerate(SHARES[:4]):
        published = survey(first, second)
        tilted = conditioned(groups, 1.0, first[1])
        apart = np.outer(tilted.sum(axis=1), tilted.sum(axis=0))
        phi = float(np.sqrt((np.square(tilted - apart) / apart).sum()))
        title = words((first, second), n)

        def rejected(joint: Array, key: int) -> float:
            tests = (
                independence(draw(published, joint, n, [seed, number, key, each])[1], "a", "b")  # noqa: B023
                for each in range(surveys)
            )
            return sum(test.p_value <= test.alpha for test in tests) / surveys

        level = rejected(apart, 0)
        yield Row.of_chance("independence: level", title, level, surveys, "5 %")
        easy, hard = independence(draw(published, apart, n, seed)[1], "a", "b").detectable or (1, 1)
        for name, wanted, key in (("easiest", easy, 1), ("hardest", hard, 2)):
            if wanted is None:
                continue
            joint = apart + (tilted - apart) * (wanted / phi)
            if (joint < 0).any():
                continue
            power = rejected(joint, key)
            expected = "80 %" if easy == hard else "at most 80 %" if key == 1 else "at least 80 %"
            title_of = f"{title}; phi = {wanted:.3f}, detectable of the {name} kind"
            yield Row.of_chance("independence: power", title_of, power, surveys, expected)


TABLES: tuple[tuple[tuple[Question, Question, Question], int], ...] = (
    ((("GRR", 2, "2"), ("OUE", 3, "2"), ("OLH", 2, "2")), 3000),
    (((None, 2, ""), ("SS", 3, "2"), (None, 3, "")), 500),
)
"""Three attributes, and respondents."""


def study_tables(surveys: int, seed: int) -> Iterator[Row]:
    """Yield the rows of three-way tables, and the error of likelihood beside the unbiased one."""
    for number, (questions, n) in enumerate(TABLES):
        shape = tuple(k for _, k, _ in questions)
        joint = np.linspace(1.0, 2.0, int(np.prod(shape))).reshape(shape)
        joint /= joint.sum()
        published, title = survey(*questions), words(questions, n)
        drawn = [draw(published, joint, n, [seed, number, 3, each])[1] for each in range(surveys)]
        tables = [three_way_table(records, "a", "b", "c") for records in drawn]
        limits = ((table.lower, table.upper) for table in tables)
        yield covering("cell of a three-way table", title, limits, joint)
        pairs = joint.sum(axis=2)
        unbiased = [cross_table(records, "a", "b").frequency for records in drawn]
        likely = [likelihood_table(records, ["a", "b"]).frequency for records in drawn]
        errors = [
            float(np.mean([np.square(table - pairs).sum() for table in each]))
            for each in (likely, unbiased)
        ]
        ratio = errors[0] / errors[1]
        answer = "squared error by likelihood, of that of the unbiased table (a, b); no interval"
        yield Row(answer, title, ratio, ratio, "at most 100 %")


CHANGES: tuple[tuple[Question, int, float], ...] = (
    (("OUE", 3, "1"), 2000, 0.3),
    (("GRR", 3, "2"), 500, 0.3),
    ((None, 3, ""), 200, 0.3),
    (("SS", 5, "3"), 300, 0.01),
)
"""The attribute, respondents of each wave, and the share of its first category before."""


def study_changes(surveys: int, seed: int) -> Iterator[Row]:
    """Yield the rows of differences between two waves."""
    for number, (question, n, first) in enumerate(CHANGES):
        published, k = survey(question), question[1]
        waves = [
            np.array([share, *[(1 - share) / (k - 1)] * (k - 1)]) for share in (first, 1.5 * first)
        ]
        limits = []
        for each in range(surveys):
            records = [
                draw(published, joint, n, [seed, number, 4, each, wave])[1]
                for wave, joint in enumerate(waves)
            ]
            rows = [row[2] for row in change(*records, "a").shares.values()]
            lower, upper = ([getattr(row, end) for row in rows] for end in ("lower", "upper"))
            limits.append((np.array(lower), np.array(upper)))
        title = words([question], n) + (", a category of 1 %" if first < 0.1 else "")
        yield covering("change between two waves", title, iter(limits), waves[1] - waves[0])


TOGETHER: tuple[tuple[Question, int], ...] = (
    (("OUE", 2, "1"), 1000),
    (("GRR", 5, "2"), 1000),
    (("OLH", 8, "2"), 1000),
    ((None, 5, ""), 300),
)
"""The attribute, and respondents."""

LOOKS = 20
"""At equal steps until all have answered."""


def study_together(surveys: int, seed: int) -> Iterator[Row]:
    """Yield how often all intervals of an attribute hold, at one look and at all looks."""
    for number, (question, n) in enumerate(TOGETHER):
        published, k = survey(question), question[1]
        joint = np.arange(1.0, k + 1) / (k * (k + 1) / 2)
        drawn = [draw(published, joint, n, [seed, number, 5, each])[1] for each in range(surveys)]
        title = words([question], n)

        def held(records: Records, method: Method, truth: Array = joint) -> bool:
            found = simultaneous_estimates(records, only=["a"], method=method).attributes["a"][1]
            return bool(((found.lower <= truth) & (truth <= found.upper)).all())

        methods: tuple[Method, ...] = ("max-t", "bonferroni")
        for method in methods:
            share = sum(held(records, method) for records in drawn) / surveys
            answer = f"all intervals together, {method}"
            yield Row.of_chance(answer, title, share, surveys, "95 %")
        looks = [
            np.mean(
                [
                    all(held(records.take(slice(0, look)), method) for look in _looks(n))
                    for records in drawn
                ]
            )
            for method in ("anytime", "bonferroni")
        ]
        answer = f"all intervals at all of {LOOKS} looks"
        for method, share, expected in zip(
            ("anytime", "bonferroni"), looks, ("at least 95 %", "meant for one look"), strict=True
        ):
            yield Row.of_chance(f"{answer}, {method}", title, float(share), surveys, expected)


def _looks(n: int) -> range:
    return range(n // LOOKS, n + 1, n // LOOKS)


AUDITED = ((0.5, "A"), (0.2, "B"), (0.2, "C"), (0.1, "D"))
"""Shares of the groups; the first is the reference."""


def study_audits(surveys: int, seed: int) -> Iterator[Row]:
    """Yield how often the audits of several groups hold together, and find what is not there."""
    draft = {
        "name": "audited",
        "version": 1,
        "title": "Audited",
        "epsilon": "3",
        "attributes": [
            {
                "name": "group",
                "role": "sensitive",
                "protocol": "GRR",
                "categories": [name for _, name in AUDITED],
            },
            {"name": "other", "role": "plain", "categories": ["no", "yes"]},
        ],
    }
    published, n = Manifest.from_dict(draft).resolve(), 3000
    rates = np.array([0.5, 0.5, 0.3, 0.5])
    held = missed = false = 0
    for each in range(surveys):
        rng = np.random.default_rng([seed, 6, each])
        group = rng.choice(4, n, p=[share for share, _ in AUDITED])
        predicted = (rng.random(n) < rates[group]).astype(np.int64)
        codes = {"group": group, "other": predicted}
        records = Records(published, encode_many(published, codes, rng))
        predictions = AuditPredictions(predicted, ("other",), "external")
        together, listed = (
            audit_groups(
                records,
                predictions,
                attribute="group",
                reference="A",
                outlook=False,
                together=how,
            )
            for how in ("simultaneous", "discoveries")
        )
        sets = [pair.metrics["SPD"] for pair in together.audits.values()]
        truth = rates[0] - rates[1:]
        held += all(
            isinstance(one, Interval) and one.lower <= value <= one.upper
            for one, value in zip(sets, truth, strict=True)
        )
        found = {
            name for (name, metric), p in listed.adjusted.items() if metric == "SPD" and p <= 0.05
        }
        missed += "C" not in found
        false += len(found - {"C"}) / max(len(found), 1)
    title = f"GRR, k = 4, ε = 3; n = {n:,}; SPD of three groups, one of them apart by 0.2"
    share = held / surveys
    yield Row.of_chance("audits of all groups together", title, share, surveys, "at least 95 %")
    share = false / surveys
    yield Row.of_chance("false part of the discoveries", title, share, surveys, "at most 5 %")
    share = 1 - missed / surveys
    answer = "the group that is apart is discovered"
    yield Row.of_chance(answer, title, share, surveys, "as often as can be")


PAIRS: tuple[Question, ...] = (("GRR", 3, "2"), ("OUE", 2, "2"), (None, 3, ""), (None, 2, ""))
"""Attributes of which the first and the third depend on each other, and no others."""


def study_dependencies(surveys: int, seed: int) -> Iterator[Row]:
    """Yield how many of the pairs that are called dependent are not."""
    published, n = survey(*PAIRS), 1000
    together = conditioned((0.3, 0.3, 0.4), 2.0, 3)
    rest = np.full((2, 2), 0.25)
    joint = np.einsum("ac,bd->abcd", together, rest)
    false = discovered = 0.0
    for each in range(surveys):
        records = draw(published, joint, n, [seed, 7, each])[1]
        found = dependencies(records).to_dict()["pairs"]
        called = {(one["a"], one["b"]) for one in found if one["conclusion"] == "dependent"}
        discovered += ("a", "c") in called
        false += len(called - {("a", "c")}) / max(len(called), 1)
    title = words(PAIRS, n) + "; of six pairs one depends"
    answer = "false part of the dependent pairs"
    yield Row.of_chance(answer, title, false / surveys, surveys, "at most 5 %")
    answer = "the dependent pair is found"
    yield Row.of_chance(answer, title, discovered / surveys, surveys, "as often as can be")


STUDIES: Mapping[str, Callable[[int, int], Iterator[Row]]] = {
    "shares": study_shares,
    "independence": study_independence,
    "tables": study_tables,
    "changes": study_changes,
    "together": study_together,
    "audits": study_audits,
    "dependencies": study_dependencies,
}


def run_study(*, surveys: int, seed: int = SEED, part: str | None = None) -> list[Row]:
    """Return the rows of all settings.

    Parameters
    ----------
    surveys : int
        Of each setting, at least 2.
    seed : int
        Of respondents and noise.
    part : str, optional
        One of `STUDIES`; by default all.
    """
    studies = STUDIES.values() if part is None else [STUDIES[part]]
    return [row for study in studies for row in study(surveys, seed)]


def markdown(rows: Sequence[Row]) -> str:
    """Return the study as a table in Markdown; shares in percent."""
    lines = [
        "| answer | setting | covered (or rejected) | its standard error | the worst | expected "
        "| without a bound |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.answer} | {row.setting} | {100 * row.covered:.1f} "
        f"| {'' if row.error is None else f'{100 * row.error:.2f}'} | {100 * row.least:.1f} "
        f"| {row.expected} | {100 * row.unbounded:.1f} |"
        for row in rows
    ]
    return "\n".join(lines)


main = study_command(
    run_study,
    markdown,
    help="Measure coverage, level and power of answers about several questions.",
    seed=SEED,
    parts=tuple(STUDIES),
)


if __name__ == "__main__":
    main()
