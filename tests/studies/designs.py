"""Do intervals of weighted shares cover, and does weighting remove the bias of a biased sample?

A setting has a population in which the first attribute depends on the others, and a sample in which
some of their categories answer more often. Beside the estimate stands the one that the same
respondents would have given in clear, with the linearised variance of weighted surveys, computed
here from the answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click
import numpy as np
import numpy.typing as npt

from hushpoll_analysis import CellValues, SurveyDesign, weighted_shares
from hushpoll_analysis.records.records import Records
from hushpoll_shared.cli.terminal import emit, json_option, reports_errors
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.batch import encode_many
from relations_survey import survey

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Question = tuple[str | None, int, str]

SEED = 2026
QUANTILE = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Setting:
    """One kind of design.

    Attributes
    ----------
    design : str
        ``weights`` of records, ``totals`` by weights (Horvitz and Thompson's, as parts of the
        people whom a sample stands for), ``margins``, ``strata``, or ``census`` of all people.
    questions : tuple
        The outcome first.
    n : int
        Respondents.
    rare : bool
        Whether the outcome's first category is rare.
    small : float or None
        Share of the first category of the second attribute; None for equal ones.
    people : int
        In a finite population; 0 where respondents are drawn from a distribution.
    """

    design: str
    questions: tuple[Question, ...]
    n: int
    rare: bool = False
    small: float | None = None
    people: int = 0

    @property
    def words(self) -> str:
        """The setting in words."""
        each = [
            f"{protocol}, k = {k}, ε = {epsilon}" if protocol else f"in clear, k = {k}"
            for protocol, k, epsilon in self.questions
        ]
        end = f"; n = {self.n:,}" + (f" of {self.people:,}" if self.people else "")
        if self.rare:
            end += ", a category of 2 %"
        return (
            "; by ".join((each[0], " and ".join(each[1:])))
            + end
            + (f", a group of {100 * self.small:g} %" if self.small else "")
        )


CLEAR: Question = (None, 3, "")
SETTINGS: tuple[Setting, ...] = (
    Setting("weights", (CLEAR, CLEAR), 1000),
    Setting("weights", (("OUE", 3, "2"), CLEAR), 2000),
    Setting("weights", (("GRR", 3, "2"), CLEAR), 1000, rare=True),
    Setting("weights", (CLEAR, CLEAR), 1000, rare=True),
    Setting("strata", (CLEAR, CLEAR), 600, people=1200),
    Setting("strata", (("GRR", 3, "2"), CLEAR), 900, people=1200),
    Setting("strata", (("OUE", 3, "1"), CLEAR), 3000, people=4000),
    Setting("census", (("SS", 4, "2"), CLEAR), 1000, people=1000),
    Setting("margins", (CLEAR, CLEAR), 1000),
    Setting("margins", (("OLH", 4, "2"), CLEAR), 2000),
    Setting("margins", (("GRR", 3, "3"), CLEAR), 600, rare=True),
    Setting("margins", (("OUE", 3, "2"), CLEAR, (None, 4, "")), 2000),
    Setting("margins", (CLEAR, CLEAR, (None, 4, "")), 800),
    Setting("margins", (CLEAR, ("GRR", 3, "2")), 2000),
    Setting("margins", (("OUE", 3, "2"), ("GRR", 3, "2")), 5000),
    Setting("margins", (("GRR", 3, "2"), ("OLH", 4, "2")), 5000),
    Setting("margins", (("GRR", 2, "3"), ("OUE", 3, "3")), 8000, small=0.06),
    Setting("margins", (("GRR", 2, "3"), ("OUE", 3, "3")), 5000, small=0.06),
    Setting("margins", (CLEAR, ("GRR", 3, "2")), 5000, small=0.06),
    Setting("margins", (CLEAR, ("GRR", 3, "2"), ("OUE", 3, "2")), 6000),
    Setting("margins", (("GRR", 2, "3"), ("GRR", 3, "3"), ("SS", 3, "3")), 6000),
    Setting("margins", (("GRR", 3, "2"), CLEAR, ("OUE", 3, "2")), 4000),
    Setting("totals", (CLEAR, CLEAR), 1000),
    Setting("totals", (("OUE", 3, "2"), CLEAR), 2000),
)


@dataclass(frozen=True, slots=True)
class Row:
    """What one setting did; shares in [0, 1], biases and widths of the outcome's categories.

    Attributes
    ----------
    setting : Setting
        Which.
    covered, least : float
        Share of the intervals that held the truth: over all categories, and of the worst one.
    bias_before, bias_after : float
        Largest bias of a category's share, unweighted and weighted.
    width : float
        Mean standard error over that in clear.
    clear_covered : float
        Share of the intervals of the same respondents in clear that held the truth.
    unanswered : float
        Share of the surveys that could not conclude; they are left out of the others.
    """

    setting: Setting
    covered: float
    least: float
    bias_before: float
    bias_after: float
    width: float
    clear_covered: float
    unanswered: float


def population(setting: Setting) -> Array:
    """Return the joint distribution f64[k1, k2, ...] of a setting's population."""
    ks = [k for _, k, _ in setting.questions]
    others = np.ones(ks[1:])
    if setting.small is not None:
        others[0] = setting.small
        others[1:] = (1 - setting.small) / (ks[1] - 1)
    others /= others.sum()
    depth = np.indices(ks[1:]).sum(axis=0) / max(sum(ks[1:]) - len(ks[1:]), 1)
    of = np.stack([1 + code * (0.2 + 4 * depth) for code in range(ks[0])])
    of /= of.sum(axis=0)
    if setting.rare:
        of[1:] *= 0.98 / of[1:].sum(axis=0)
        of[0] = 0.02
    return np.asarray(of * others)


def answering(setting: Setting) -> Array:
    """Return how often the people of each cell of the other attributes answer, relatively."""
    ks = [k for _, k, _ in setting.questions[1:]]
    chance = np.ones(ks)
    for axis, k in enumerate(ks):
        shape = [1] * len(ks)
        shape[axis] = k
        chance = chance * np.linspace(1.0, 4.0, k).reshape(shape)
    return chance


@dataclass(frozen=True, slots=True)
class Drawn:
    """The answers of one sample, its design, and a weight of each record."""

    codes: tuple[Codes, ...]
    design: SurveyDesign
    weights: Array | None


def _drawn(setting: Setting, joint: Array, rng: np.random.Generator) -> Drawn:
    ks = [k for _, k, _ in setting.questions]
    names = "abc"[1 : len(ks)]
    if setting.people:
        return _from_people(setting, joint, rng)
    chance = joint * answering(setting)
    cells = rng.choice(joint.size, setting.n, p=(chance / chance.sum()).ravel())
    codes = np.unravel_index(cells, joint.shape)
    if setting.design in ("weights", "totals"):
        # people of a cell stand for different numbers of people, whatever they answer
        own = rng.gamma(4, 0.25, setting.n)
        return Drawn(codes, SurveyDesign(), 1000 * own / answering(setting)[codes[1:]])
    margins = tuple(
        CellValues((name,), _numbered(joint.sum(axis=tuple(set(range(len(ks))) - {axis}))))
        for axis, name in enumerate(names, start=1)
    )
    return Drawn(codes, SurveyDesign(margins=margins), None)


def _from_people(setting: Setting, joint: Array, rng: np.random.Generator) -> Drawn:
    answers = people(setting, joint)
    sizes = np.bincount(answers[1], minlength=joint.shape[1])
    if setting.design == "census":
        chosen = np.arange(setting.people)
        return Drawn(tuple(codes[chosen] for codes in answers),
                     SurveyDesign(population=setting.people), None)  # fmt: skip
    share = np.linspace(0.7, 1.3, len(sizes)) * setting.n / setting.people
    chosen = np.concatenate(
        [
            rng.choice(np.flatnonzero(answers[1] == stratum), int(part * size), replace=False)
            for stratum, (size, part) in enumerate(zip(sizes, np.minimum(share, 1), strict=True))
        ]
    )
    design = SurveyDesign(strata=CellValues(("b",), _numbered(sizes)))
    return Drawn(tuple(codes[chosen] for codes in answers), design, None)


def people(setting: Setting, joint: Array) -> tuple[Codes, ...]:
    """Return the answers of a finite population, the same each time."""
    rng = np.random.default_rng(setting.people)
    cells = rng.choice(joint.size, setting.people, p=joint.ravel())
    return tuple(np.unravel_index(cells, joint.shape))


def _numbered(values: Array | Codes) -> dict[str, float]:
    return {str(code + 1): float(value) for code, value in enumerate(values)}


def in_clear(drawn: Drawn, ks: Sequence[int]) -> tuple[Array, Array]:
    """Return shares and standard errors in clear: calibration residuals, as R's survey has them."""
    outcome = np.eye(ks[0])[drawn.codes[0]]
    n = len(outcome)
    weights = np.ones(n) if drawn.weights is None else drawn.weights
    weights = weights / weights.sum()
    design, stratum = drawn.design, np.zeros(n, np.int64)
    margins = [np.array(list(margin.values.values())) for margin in design.margins]
    columns = list(drawn.codes[1:])
    fraction = np.array([n / design.population if design.population else 0.0])
    if design.strata is not None:
        sizes = np.array(list(design.strata.values.values()))
        margins, stratum = [sizes / sizes.sum()], drawn.codes[1]
        fraction = np.bincount(stratum, minlength=len(sizes)) / sizes
    for _ in range(200):
        for column, shares in zip(columns, margins, strict=False):
            weights = weights * (shares / np.bincount(column, weights, len(shares)))[column]
    share = weights @ outcome
    predictors = np.ones((n, 1))
    if margins:
        predictors = np.hstack([np.eye(len(m))[c] for c, m in zip(columns, margins, strict=False)])
    root = np.sqrt(weights)[:, None]
    slopes = np.linalg.lstsq(root * predictors, root * outcome, rcond=1e-10)[0]
    residuals = weights[:, None] * (outcome - predictors @ slopes)
    variance = np.zeros(ks[0])
    for place, part in enumerate(fraction):
        own = residuals[stratum == place]
        scale = (1 - part) * len(own) / max(len(own) - 1, 1)
        variance += scale * np.square(own - own.mean(axis=0)).sum(axis=0)
    return share, np.sqrt(variance)


def total_in_clear(drawn: Drawn, k: int, size: float) -> tuple[Array, Array]:
    """Return Horvitz and Thompson's totals in clear over a number of people, and their errors."""
    weights = np.ones(len(drawn.codes[0])) if drawn.weights is None else drawn.weights
    parts = weights[:, None] * np.eye(k)[drawn.codes[0]] / size
    n = len(parts)
    spread = np.square(parts - parts.mean(axis=0)).sum(axis=0) * n / (n - 1)
    return parts.sum(axis=0), np.sqrt(spread)


def _published(setting: Setting) -> Published:
    return survey(*setting.questions)


def study(setting: Setting, surveys: int, seed: Sequence[int]) -> Row:
    """Return the row of one setting."""
    joint, published = population(setting), _published(setting)
    truth = joint.sum(axis=tuple(range(1, joint.ndim)))
    if setting.people:
        answers = people(setting, joint)[0]
        truth = np.bincount(answers, minlength=len(truth)) / setting.people
    held, before, after, widths, clear_held = [], [], [], [], []
    for each in range(surveys):
        rng = np.random.default_rng([*seed, each])
        drawn = _drawn(setting, joint, rng)
        codes = dict(zip("abc", drawn.codes, strict=False))
        if "z" in [attribute.name for attribute in published.attributes]:
            codes["z"] = rng.integers(0, 2, len(drawn.codes[0]))
        records = Records(published, encode_many(published, codes, rng))
        found = weighted_shares(records, "a", drawn.design, weights=drawn.weights)
        if found.cannot_conclude is not None:
            continue
        shares = found.shares
        clear, error = in_clear(drawn, [k for _, k, _ in setting.questions])
        if setting.design == "totals" and found.totals is not None:
            people_stood_for = 1000 * setting.n / float((joint * answering(setting)).sum())
            shares = found.totals.scaled(1 / people_stood_for)
            clear, error = total_in_clear(drawn, len(truth), people_stood_for)
        held.append((shares.lower <= truth + 1e-12) & (truth - 1e-12 <= shares.upper))
        before.append(found.unweighted.value - truth)
        after.append(shares.value - truth)
        clear_held.append(np.abs(clear - truth) <= QUANTILE * error + 1e-12)
        known = error > 0
        widths.append((shares.standard_error[known] / error[known]).mean() if known.any() else 0.0)
    if not held:
        nothing = [float("nan")] * 6
        return Row(setting, *nothing, unanswered=1.0)
    covered = np.mean(held, axis=0)
    return Row(
        setting,
        float(covered.mean()),
        float(covered.min()),
        *(float(np.abs(np.mean(bias, axis=0)).max()) for bias in (before, after)),
        width=float(np.mean(widths)),
        clear_covered=float(np.mean(clear_held)),
        unanswered=1 - len(held) / surveys,
    )


def run_study(*, surveys: int, seed: int = SEED) -> Iterator[Row]:
    """Yield the rows of all settings.

    Parameters
    ----------
    surveys : int
        Of each setting, at least 2.
    seed : int
        Of respondents and noise.
    """
    for number, setting in enumerate(SETTINGS):
        yield study(setting, surveys, [seed, number])


def markdown(rows: Sequence[Row]) -> str:
    """Return the study as a table in Markdown; shares and biases in percent."""
    lines = [
        "| design | setting | covered | the worst | in clear covered | bias unweighted "
        "| bias weighted | error over that in clear | without an answer |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        width = f"{row.width:.2f}" if row.width else "(0 in clear)"
        lines.append(
            f"| {row.setting.design} | {row.setting.words} | {100 * row.covered:.1f} "
            f"| {100 * row.least:.1f} | {100 * row.clear_covered:.1f} "
            f"| {100 * row.bias_before:.1f} | {100 * row.bias_after:.1f} | {width} "
            f"| {100 * row.unanswered:.1f} |"
        )
    return "\n".join(lines)


@click.command()
@click.option("--surveys", type=click.IntRange(min=2), default=1000, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=SEED, show_default=True)
@json_option
@reports_errors
def main(surveys: int, seed: int, as_json: bool) -> None:
    """Measure coverage and bias of weighted shares."""
    rows = list(run_study(surveys=surveys, seed=seed))
    document = {
        "surveys": surveys,
        "seed": seed,
        "rows": [
            {
                "design": row.setting.design,
                "setting": row.setting.words,
                **{name: getattr(row, name) for name in Row.__slots__ if name != "setting"},
            }
            for row in rows
        ],
    }
    emit(document, lambda: markdown(rows), as_json=as_json)


if __name__ == "__main__":
    main()
