"""Do tests of independence keep their level where answers are rare, and what does that cost?

Each setting draws surveys anew, respondents and noise together, and asks the functions themselves.
Beside them stands what the chi-square distribution makes of the same statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2

from hushpoll_analysis import Records, dependencies, independence
from hushpoll_analysis.multiplicity.discovery import adjusted
from hushpoll_analysis.relations.independence import IndependenceTest
from hushpoll_shared.wire.batch import encode_many
from relations_survey import draw, survey
from studies.command import study_command
from studies.relations import Question, words

Array = npt.NDArray[np.float64]

SEED = 2027
LEVELS = (0.05, 0.01, 0.001)
STEEP = (0.9, 0.05, 0.03, 0.015, 0.005), (0.9, 0.06, 0.03, 0.01)
MILD = (0.5, 0.3, 0.15, 0.05), (0.6, 0.3, 0.1)
EVEN = (0.5, 0.5), (0.97, 0.03)
Shares = tuple[Sequence[float], Sequence[float]]


@dataclass(frozen=True, slots=True)
class Row:
    """What tests did in one setting, in shares of the surveys.

    Attributes
    ----------
    measured, setting : str
        In words.
    expected : float
        Median over the surveys of the people that are expected in the emptiest cell.
    drawn : float
        Share of the surveys whose p-value came from drawn tables.
    rejected, by_chi_square : tuple of float
        Shares rejected at `LEVELS`, and those that the chi-square distribution would reject.
    surveys : int
        That were drawn.
    level : bool
        Whether nothing depends, so that the rejected shares are sizes.
    """

    measured: str
    setting: str
    expected: float
    drawn: float
    rejected: tuple[float, ...]
    by_chi_square: tuple[float, ...]
    surveys: int
    level: bool

    @property
    def holds(self) -> bool:
        """Whether no size is above its level by more than 2 standard errors."""
        return all(
            share <= level + 2 * (level * (1 - level) / self.surveys) ** 0.5
            for share, level in zip(self.rejected, LEVELS, strict=False)
        )


SIZES: tuple[tuple[str | None, str, str | None, str, Shares, int], ...] = (
    ("GRR", "8", "GRR", "8", STEEP, 200),
    (None, "", "GRR", "8", STEEP, 1000),
    (None, "", None, "", STEEP, 100),
    (None, "", None, "", EVEN, 100),
    (None, "", None, "", STEEP, 10_000),
    ("GRR", "4", "GRR", "4", STEEP, 300),
    ("GRR", "4", None, "", EVEN, 300),
    ("GRR", "8", "GRR", "8", STEEP, 10_000),
    ("GRR", "2", "GRR", "2", MILD, 300),
    ("SS", "8", "SS", "4", STEEP, 200),
    ("SS", "1", None, "", STEEP, 300),
    ("SS", "0.5", "SS", "0.5", MILD, 100),
    ("OUE", "8", "OUE", "8", STEEP, 200),
    ("OUE", "4", "OUE", "4", STEEP, 1000),
    ("OUE", "8", None, "", STEEP, 1000),
    ("OUE", "8", "OUE", "8", STEEP, 10_000),
    ("OUE", "0.5", None, "", STEEP, 100),
    ("OLH", "8", "OLH", "8", STEEP, 200),
    ("OLH", "4", None, "", STEEP, 1000),
    ("OLH", "2", "GRR", "4", STEEP, 300),
    ("OLH", "1", "OUE", "1", MILD, 100),
)
"""Protocol and epsilon of either attribute, their shares, and respondents."""

POWERS: tuple[tuple[str | None, str, str | None, str, Shares, int, float], ...] = (
    (None, "", None, "", MILD, 400, 0.16),
    ("GRR", "4", "GRR", "4", MILD, 400, 0.2),
    ("OUE", "4", None, "", MILD, 600, 0.28),
    ("OLH", "4", "OLH", "4", MILD, 1000, 0.4),
)
"""As `SIZES`, where the chi-square distribution holds, and the largest part of a share by which its
groups differ."""


def questions(setting: tuple[str | None, str, str | None, str, Shares, int]) -> list[Question]:
    """Return the two questions of a setting."""
    first, epsilon, second, other, shares, _ = setting
    return [(first, len(shares[0]), epsilon), (second, len(shares[1]), other)]


def row_of(
    measured: str, setting: str, tests: Sequence[IndependenceTest], *, level: bool = True
) -> Row:
    """Return the row of the tests of many surveys."""
    p_values = np.array([test.p_value for test in tests])
    chances = np.array(
        [chi2.sf(test.statistic, test.degrees) if test.degrees else 1.0 for test in tests]
    )
    return Row(
        measured,
        setting,
        float(np.median([test.smallest_expected for test in tests])),
        float(np.mean([test.tables is not None for test in tests])),
        tuple(float((p_values <= at).mean()) for at in LEVELS),
        tuple(float((chances <= at).mean()) for at in LEVELS),
        len(tests),
        level,
    )


def study_sizes(surveys: int, seed: int) -> Iterator[Row]:
    """Yield how often independent answers are called dependent."""
    for number, setting in enumerate(SIZES):
        asked, (*_, shares, n) = questions(setting), setting
        published, joint = survey(*asked), np.outer(*map(np.array, shares))
        tests = [
            independence(draw(published, joint, n, [seed, number, each])[1], "a", "b")
            for each in range(surveys)
        ]
        yield row_of("size", words(asked, n), tests)


def study_power(surveys: int, seed: int) -> Iterator[Row]:
    """Yield how often a dependence is found where the chi-square distribution would do."""
    for number, (*rest, tilt) in enumerate(POWERS):
        setting = tuple(rest)
        asked, (*_, shares, n) = questions(setting), setting  # type: ignore[arg-type]
        apart = np.outer(*map(np.array, shares))
        joint = apart.copy()
        moved = tilt * apart[0, -1]
        joint[0, 0] -= moved
        joint[0, -1] += moved
        moved = tilt * apart[1, 0]
        joint[1, 0] += moved
        joint[1, -1] -= min(moved, apart[1, -1])
        joint /= joint.sum()
        published = survey(*asked)
        tests = [
            independence(draw(published, joint, n, [seed, 100 + number, each])[1], "a", "b")
            for each in range(surveys)
        ]
        yield row_of("power", words(asked, n), tests, level=False)


SIX: tuple[Question, ...] = (("GRR", 4, "4"),) * 6
"""Independent attributes."""


def study_discoveries(surveys: int, seed: int) -> Iterator[Row]:
    """Yield in how many surveys of independent attributes a pair is called dependent."""
    published, n, shares = survey(*SIX), 300, np.array(STEEP[1])
    found, by_chi_square, tests = 0.0, 0.0, []
    for each in range(surveys):
        rng = np.random.default_rng([seed, 200, each])
        codes = {name: rng.choice(4, n, p=shares) for name in "abcdef"}
        records = Records(published, encode_many(published, codes, rng))
        result = dependencies(records)
        tests += list(result.tests)
        found += min(result.adjusted) <= result.rate
        chances = [float(chi2.sf(test.statistic, test.degrees)) for test in result.tests]
        by_chi_square += float(adjusted(chances).min()) <= result.rate
    row = row_of("", "", tests)
    yield Row(
        "a discovery at rate .05",
        words(SIX[:1], n) + "; six independent attributes",
        row.expected,
        row.drawn,
        (found / surveys,),
        (by_chi_square / surveys,),
        surveys,
        True,
    )


STUDIES: Mapping[str, Callable[[int, int], Iterator[Row]]] = {
    "sizes": study_sizes,
    "power": study_power,
    "discoveries": study_discoveries,
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

    def shown(shares: Sequence[float]) -> str:
        return ", ".join(f"{100 * share:.2f}" for share in shares)

    lines = [
        "| measured | setting | people expected in the emptiest cell | tables drawn "
        "| rejected at 5, 1 and .1 % | by the chi-square distribution |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.measured} | {row.setting} | {row.expected:.2g} | {100 * row.drawn:.0f} "
        f"| {shown(row.rejected)} | {shown(row.by_chi_square)} |"
        for row in rows
    ]
    sizes = [row for row in rows if row.level]
    held = sum(row.holds for row in sizes)
    return "\n".join([*lines, "", f"No size above its level by 2 errors: {held} of {len(sizes)}."])


main = study_command(
    run_study,
    markdown,
    help="Measure the sizes of tests of independence where answers are rare.",
    seed=SEED,
    surveys=2000,
    parts=tuple(STUDIES),
)


if __name__ == "__main__":
    main()
