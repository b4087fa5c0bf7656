"""What a block of two questions gains over two questions that are split, measured.

Of two yes/no questions: the standard error of a cell of their table, and the respondents that the
planner predicts for it. Of Adult's gender and income: how wide an audit from records alone is with
both together, split uniformly, and split so that the sum of variances is least. Of an amount: the
variance of a mean beside that of mechanisms made for means. ``scripts/coverage-study --gains``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import exp
from pathlib import Path
from typing import Final

import click
import numpy as np
import numpy.typing as npt

from hushpoll_analysis import AuditPredictions, Records, audit, cross_table
from hushpoll_analysis.planning.block_outcomes import Share, Table
from hushpoll_protocols import create
from hushpoll_shared import Manifest
from hushpoll_shared.cli.terminal import emit, json_option, reports_errors
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.anchors import variance_at, worst_variance
from hushpoll_shared.survey.questions.number import LARGEST_NUMBER
from hushpoll_shared.wire.batch import encode_many

Array = npt.NDArray[np.float64]

SEED: Final = 2029
N: Final = 2_000
"""Respondents of a survey of two yes/no questions."""

WIDTH: Final = 0.1
"""How wide the interval of a cell is to be."""

NEEDED: Final = "respondents, simulated over predicted"
"""By the mean width of the simulated intervals; to be within 3 % of each other."""

_Z: Final = 1.959963984540054
_TOGETHER: Final = "together"
AUDITED: Final = {"2": (0.45, 0.78), "1": (0.29, 0.82)}
"""By epsilon the ratios that were asked for, of EOD and of SPD."""

SPLITS: Final = ("uniform", "optimal", "1:3", "2:3", "3:2", "3:1")
"""How epsilon is divided over gender and income where they are apart."""

ANCHORED: Final = {"0.5": 1.10, "1": 1.10, "2": 1.10, "4": 1.10}
MOST_TOTAL: Final = 1.08


@dataclass(frozen=True)
class Row:
    """One figure, and the most that it may be.

    Attributes
    ----------
    figure, setting : str
    ours, other : float
        Of the block, or of the anchors, and of what it is compared with.
    ratio : float
        Of both.
    most : float or None
        What was asked for; None where nothing was.
    """

    figure: str
    setting: str
    ours: float
    other: float
    most: float | None = None

    @property
    def ratio(self) -> float:
        return self.ours / self.other


def cells(surveys: int, seed: int) -> list[Row]:
    """Return a cell's error together and split, and respondents as predicted and simulated."""
    rows, errors = [], {}
    for way in (_TOGETHER, "split"):
        published = _habits(together=way == _TOGETHER)
        rng = np.random.default_rng([seed, len(way)])
        codes = rng.integers(0, 4, surveys * N)
        answers = {"gender": codes // 2, "smokes": codes % 2}
        sent = encode_many(published, answers, rng).reshape(surveys, N, -1)
        tables = [cross_table(Records.trusted(published, one), "gender", "smokes") for one in sent]
        errors[way] = float(np.sqrt(np.mean([(one.frequency - 0.25) ** 2 for one in tables])))
        width = float(np.mean([one.upper - one.lower for one in tables]))
        planned = 2 * _Z * _planned(published)
        simulated, needed = (N * (one / WIDTH) ** 2 for one in (width, planned))
        setting = f"{way}, a cell's interval {WIDTH:g} wide"
        rows.append(Row(NEEDED, setting, simulated, needed))
    setting = "two yes/no questions, epsilon 2, SS, together over split"
    cell = Row("standard error of a cell", setting, errors[_TOGETHER], errors["split"], 0.55)
    return [cell, *rows]


def _habits(*, together: bool) -> Published:
    draft = {
        "name": "habits",
        "version": 1,
        "title": "Habits",
        "epsilon": "2",
        "protocol": "SS",
        "attributes": [
            {"name": "gender", "role": "sensitive", "categories": ["f", "m"]},
            {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]},
        ],
    }
    if together:
        draft["together"] = [{"name": "both", "attributes": ["gender", "smokes"]}]
    return Manifest.from_dict(draft).resolve()


def _planned(published: Published) -> float:
    """Return the standard error of a cell that the planner expects."""
    of, given = (published.attribute(name) for name in ("gender", "smokes"))
    if len(published.blocks) == 1:
        return float(Share(published.blocks[0].oracle, 4, N, 0.25).deviation)
    cell = np.array([1.0, 0.0])
    table = Table(of, given, np.full((2, 2), 0.25))
    return float(np.sqrt(table.covariance((cell, cell), (cell, cell)) / N))


def audits(surveys: int, seed: int, data: Path) -> list[Row]:
    """Return half-widths of an audit of Adult from records: together over both splits."""
    columns = _adult(data)
    predicted = (columns["education"] + columns["hours-per-week"] // 8 > 14).astype(int)
    codes = {name: columns[name] for name in ("gender", "income")}
    rows = []
    for epsilon, most in AUDITED.items():
        halves = {}
        for way in (_TOGETHER, *SPLITS):
            published = _pay(epsilon, way)
            found = []
            for number in range(surveys):
                rng = np.random.default_rng([seed, number])
                records = Records.trusted(published, encode_many(published, codes, rng))
                given = AuditPredictions(predicted, (), "external")
                metrics = audit(records, given, outlook=False).metrics
                sets = metrics["EOD"], metrics["SPD"]
                found.append([(one.upper - one.lower) / 2 for one in sets])
            halves[way] = np.median(found, axis=0)
        for place, metric in enumerate(("EOD", "SPD")):
            best = min(SPLITS, key=lambda way: float(halves[way][place]))
            asked = {"uniform": most[place], "optimal": most[place]}
            for way in dict.fromkeys((*asked, best)):
                ours, other = float(halves[_TOGETHER][place]), float(halves[way][place])
                setting = f"Adult, epsilon {epsilon}, {_TOGETHER} over split {way}"
                rows.append(Row(f"half-width of {metric}", setting, ours, other, asked.get(way)))
    return rows


def _pay(epsilon: str, way: str) -> Published:
    draft = {
        "name": "adult",
        "version": 1,
        "title": "Adult",
        "epsilon": epsilon,
        "protocol": "SS",
        "attributes": [
            {"name": "gender", "role": "sensitive", "categories": ["Female", "Male"]},
            {
                "name": "income",
                "role": "target",
                "categories": ["low", "high"],
                "positive": "high",
                "protocol": "SS",
            },
        ],
        "protected": {"attribute": "gender", "privileged": "Male", "unprivileged": "Female"},
    }
    if way == _TOGETHER:
        draft["together"] = [{"name": "both", "attributes": ["gender", "income"]}]
    elif ":" in way:
        gender, income = map(int, way.split(":"))
        draft["split"] = {"weights": {"gender": gender, "income": income}}
    else:
        draft["split"] = way
    return Manifest.from_dict(draft).resolve()


def _adult(data: Path) -> dict[str, npt.NDArray[np.int64]]:
    path = data / "adult_26k.csv"
    rows = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int64)
    with path.open(encoding="utf-8") as file:
        return dict(zip(file.readline().strip().split(","), rows.T, strict=True))


def duchi(epsilon: float, t: float) -> float:
    """Return the variance of Duchi, Jordan and Wainwright, JASA 113, 2018, in one dimension."""
    return ((exp(epsilon) + 1) / (exp(epsilon) - 1)) ** 2 - t * t


def piecewise(epsilon: float, t: float) -> float:
    """Return that of Wang et al., ICDE 2019, lemma 1."""
    half = exp(epsilon / 2)
    return t * t / (half - 1) + (half + 3) / (3 * (half - 1) ** 2)


def hybrid(epsilon: float, t: float) -> float:
    """Return that of Wang et al., ICDE 2019, lemma 3."""
    share = 1 - exp(-epsilon / 2) if epsilon > 0.61 else 0.0
    return share * piecewise(epsilon, t) + (1 - share) * duchi(epsilon, t)


OTHERS: tuple[Callable[[float, float], float], ...] = (duchi, piecewise, hybrid)
GRID: Final = np.linspace(-1, 1, 401)


def anchors_of(epsilon: str, protocol: str = "GRR") -> tuple[int, ...]:
    """Return the anchors of a number from -L to L that is alone in its survey."""
    number = {"low": -LARGEST_NUMBER, "high": LARGEST_NUMBER}
    attribute = {"name": "x", "role": "sensitive", "protocol": protocol, "number": number}
    document = {"name": "n", "version": 1, "title": "N", "epsilon": epsilon}
    manifest = Manifest.from_dict({**document, "attributes": [attribute]})
    return manifest.resolve().attributes[0].anchors


def populations(data: Path) -> dict[str, Array]:
    """Return the answers of the named populations, between -1 and 1."""
    rng = np.random.default_rng(1)
    incomes = np.clip(np.exp(rng.normal(7.5, 0.6, 20_000)), 0, 10_000)
    ages = _adult(data)["age"].astype(float)
    return {
        "uniform": rng.uniform(-1, 1, 20_000),
        "lognormal incomes": incomes / 5_000 - 1,
        "Adult's ages": 2 * (ages - ages.min()) / (ages.max() - ages.min()) - 1,
    }


def anchors(data: Path) -> list[Row]:
    """Return the variance of a mean with GRR over the best of three mechanisms, from the law."""
    rows = []
    for epsilon, most in ANCHORED.items():
        scaled = [anchor / LARGEST_NUMBER for anchor in anchors_of(epsilon)]
        oracle = create("GRR", k=len(scaled), epsilon=epsilon)
        e, setting = float(epsilon), f"epsilon {epsilon}, {len(scaled)} anchors"
        worst = worst_variance(oracle, scaled)
        best = min(max(other(e, t) for t in GRID) for other in OTHERS)
        rows.append(Row("variance of a mean, worst answer", setting, worst, best, most))
        ours = np.array([variance_at(oracle, scaled, t) for t in GRID])
        for name, values in populations(data).items():
            total = float(np.interp(values, GRID, ours).mean() + values.var())
            least = min(
                float(np.interp(values, GRID, [other(e, t) for t in GRID]).mean() + values.var())
                for other in OTHERS
            )
            figure = f"variance of a mean in all, {name}"
            rows.append(Row(figure, setting, total, least, MOST_TOTAL))
    return rows


def run_study(surveys: int, seed: int, data: Path, audited: int = 11) -> list[Row]:
    """Return all rows.

    Parameters
    ----------
    surveys : int
        Simulated of the two yes/no questions, of 2,000 respondents each.
    seed : int
    data : Path
        The folder of ``adult_26k.csv``.
    audited : int
        Simulated of Adult, for each way and epsilon; the median half-width is told.
    """
    return [*cells(surveys, seed), *audits(audited, seed, data), *anchors(data)]


def markdown(rows: Sequence[Row]) -> str:
    """Return the table."""
    lines = [
        "| figure | setting | ours | other | ratio | asked for |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        most = "" if row.most is None else f"at most {row.most:g}"
        lines.append(
            f"| {row.figure} | {row.setting} | {row.ours:,.4g} | {row.other:,.4g} | "
            f"{row.ratio:.3f} | {most} |"
        )
    return "\n".join(lines)


@click.command(help="Measure what a block gains over a split, and anchors beside other mechanisms.")
@click.option("--surveys", type=click.IntRange(min=2), default=500, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=SEED, show_default=True)
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@json_option
@reports_errors
def main(surveys: int, seed: int, data: Path, as_json: bool) -> None:
    rows = run_study(surveys, seed, data)
    told = [asdict(row) | {"ratio": row.ratio} for row in rows]
    emit({"surveys": surveys, "seed": seed, "rows": told}, lambda: markdown(rows), as_json=as_json)


if __name__ == "__main__":
    main()
