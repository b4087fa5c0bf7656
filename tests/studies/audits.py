"""Do the confidence sets of an audit cover the truth? A study on populations fitted to real data.

A population is a table of group, label and prediction: a model is fitted beforehand to one half of
a data set, without the protected attribute, and the other half gives the shares. From these,
surveys are drawn anew, respondents and noise (:mod:`studies.fairness_coverage`).
``scripts/coverage-study`` runs it in full.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from hushpoll_protocols import create
from hushpoll_shared.cli.terminal import emit, json_option, reports_errors
from hushpoll_shared.group_metrics import METRICS
from hushpoll_training.data.coded import describe_codes, read_codes
from hushpoll_training.data.target import THRESHOLD
from hushpoll_training.encodings.indicator import one_hot_features
from hushpoll_training.learner_registry import create_learner
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.models.model import design
from studies import items as rules
from studies.fairness_coverage import Coverage, coverage

DATA: Mapping[str, tuple[str, str, str]] = {
    "Adult": ("adult_26k.csv", "income", "gender"),
    "LSAC": ("lsac.csv", "pass_bar", "race1"),
}
"""File, target and protected attribute; group 1 is the privileged one."""

PROTOCOLS = ("GRR", "OUE", "OLH", "BLH")
STUDIED = tuple(name for name, metric in METRICS.items() if metric.in_results)
FURTHER = tuple(name for name in METRICS if name not in STUDIED)
EPSILONS = ("1", "4")
RESPONDENTS = 20_000
SURVEYS = 5_000
SEED = 2023


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of one population, protocol, epsilon and number of respondents."""

    population: str
    protocol: str
    epsilon: str
    respondents: int
    metric: str
    coverage: Coverage


def fit_population(path: Path, target: str, protected: str) -> npt.NDArray[np.float64]:
    """Return the people of half a data set by group, label and prediction, f64[2, 2, 2].

    Parameters
    ----------
    path : Path
        CSV of codes.
    target, protected : str
        Two of its columns, of codes 0 and 1.

    Raises
    ------
    InvalidParameter
        If the file is not understood, or lacks a column.
    OSError
        If it cannot be read.
    """
    codes = read_codes(path)
    published = describe_codes(
        codes,
        name=path.stem,
        target=target,
        protected=protected,
        sensitive=[protected],
        protocol="GRR",
        split="uniform",
        epsilon="1",
    ).resolve()
    features = one_hot_features(published).without(protected)
    rows = features.from_codes(codes)
    label = codes[target]
    order = np.random.default_rng(SEED).permutation(len(label))
    fitted, asked = np.array_split(order, 2)
    training = design(features, rows[fitted], label[fitted])
    model = create_learner().fit(training, FitOptions())
    predicted = (model.scores(rows[asked]) > THRESHOLD).astype(np.int64)
    people = np.zeros((2, 2, 2))
    np.add.at(people, (codes[protected][asked], label[asked], predicted), 1.0)
    return people


def run_study(
    populations: Mapping[str, npt.NDArray[np.float64]],
    *,
    surveys: int = SURVEYS,
    respondents: int = RESPONDENTS,
    seed: int = SEED,
    names: Sequence[str] = STUDIED,
) -> list[Row]:
    """Return the coverage of metrics in every population, for each protocol and epsilon."""
    rows = []
    for number, (name, people) in enumerate(populations.items()):
        for epsilon in EPSILONS:
            for protocol in PROTOCOLS:
                rng = np.random.default_rng(
                    [seed, number, EPSILONS.index(epsilon), PROTOCOLS.index(protocol)]
                )
                by_metric = coverage(
                    people,
                    create(protocol, k=2, epsilon=epsilon),
                    respondents=respondents,
                    surveys=surveys,
                    rng=rng,
                    names=names,
                )
                rows += _rows(name, protocol, epsilon, respondents, by_metric)
    return rows


def run_hard(
    people: npt.NDArray[np.float64], *, surveys: int = SURVEYS, seed: int = SEED
) -> list[Row]:
    """Return the coverage in surveys that are too small, or whose positives are rare.

    Parameters
    ----------
    people : f64[2, 2, 2]
        Of Adult, by group, label and prediction; its group 0 is made small.
    surveys, seed : int
        See :func:`run_study`.
    """
    rows = []
    for number, (name, population, protocol, epsilon, respondents) in enumerate(hard(people)):
        by_metric = coverage(
            population,
            create(protocol, k=2, epsilon=epsilon),
            respondents=respondents,
            surveys=surveys,
            rng=np.random.default_rng([seed, 100 + number]),
            names=STUDIED,
        )
        rows += _rows(name, protocol, epsilon, respondents, by_metric)
    return rows


def hard(
    people: npt.NDArray[np.float64],
) -> list[tuple[str, npt.NDArray[np.float64], str, str, int]]:
    """Return the name, the population, the protocol, epsilon and respondents of each such survey.

    Parameters
    ----------
    people : f64[2, 2, 2]
        Of Adult.
    """
    size = people.sum(axis=(1, 2), keepdims=True)
    small = people / size * np.array([0.02, 0.98])[:, None, None]
    alike = np.stack([people[1] / size[1] * share for share in (0.02, 0.98)])
    rare, even = with_rates(0.5, 0.004, 0.01), with_rates(0.5, 0.01, 0.01)
    return [
        ("Adult, a group of 2 %", small, "RAPPOR", "2", 5_000),
        ("the same, no difference", alike, "RAPPOR", "2", 5_000),
        ("rare positives, P0 = .004, P1 = .01", rare, "SS", "0.5", 5_000),
        ("the same", rare, "SS", "0.5", 20_000),
        ("rare positives, no difference", even, "SS", "0.5", 5_000),
        ("halves, P = .1, no difference", with_rates(0.5, 0.1, 0.1), "GRR", "0.5", 500),
        ("halves, P = .97, no difference", with_rates(0.5, 0.97, 0.97), "OUE", "1", 500),
        ("a group of 10 %, P = .5, no difference", with_rates(0.1, 0.5, 0.5), "OUE", "1", 2_000),
        ("a group of 10 %, P0 = .1, P1 = .5", with_rates(0.1, 0.1, 0.5), "OUE", "2", 500),
    ]


def with_rates(
    unprivileged: float, p0: float, p1: float, *, base: float = 0.3
) -> npt.NDArray[np.float64]:
    """Return a population f64[2, 2, 2] with these shares predicted positive.

    Parameters
    ----------
    unprivileged : float
        Share of group 0, in (0, 1).
    p0, p1 : float
        In (0, 1).
    base : float
        Share with a positive label in each group, in (0, 1); of these 0.8 P/base, or at most 0.98,
        are predicted positive.
    """
    groups = []
    for share, positive in ((unprivileged, p0), (1 - unprivileged, p1)):
        recall = min(0.8 * positive / base, 0.98)
        false = (positive - base * recall) / (1 - base)
        rates = np.array([false, recall])
        people = share * np.array([1 - base, base])
        groups.append(np.stack([people * (1 - rates), people * rates], axis=-1))
    return np.stack(groups)


def _rows(
    name: str, protocol: str, epsilon: str, respondents: int, by_metric: Mapping[str, Coverage]
) -> list[Row]:
    return [
        Row(name, protocol, epsilon, respondents, metric, measured)
        for metric, measured in by_metric.items()
    ]


def markdown(rows: Sequence[Row]) -> str:
    """Return rows as a table in Markdown, a line per population, protocol, epsilon and respondents.

    In percent. Per metric: coverage over all surveys; those that conclude, and of all surveys those
    that find a disparity.
    """
    lines = [
        "| population | n | ε | protocol | covered: DI | SPD | EOD | OAD "
        "| conclude, find: DI | SPD | EOD | OAD | sd of SPD, EOD | worth, SPD |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for survey, by_metric in _by_survey(rows):
        spd, eod = by_metric["SPD"], by_metric["EOD"]
        cells = [
            survey.population,
            f"{survey.respondents:,}",
            survey.epsilon,
            survey.protocol,
            *(f"{100 * by_metric[name].covered:.1f}" for name in STUDIED),
            *(
                f"{100 * by_metric[name].concluded:.0f}, {100 * by_metric[name].disparate:.1f}"
                for name in STUDIED
            ),
            f"{spd.deviation:.4f}, {eod.deviation:.4f}",
            "" if spd.gain is None else f"{spd.gain**2:.2f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def further(rows: Sequence[Row]) -> str:
    """Return rows of the metrics `FURTHER` as a table in Markdown; see :func:`markdown`."""
    lines = [
        f"| population | n | ε | protocol | covered: {' | '.join(FURTHER)} "
        f"| conclude, find: {' | '.join(FURTHER)} |",
        "|---|---|---|---|" + "---|" * (2 * len(FURTHER)),
    ]
    for start in range(0, len(rows), len(FURTHER)):
        part = rows[start : start + len(FURTHER)]
        survey, found = part[0], [row.coverage for row in part]
        cells = [survey.population, f"{survey.respondents:,}", survey.epsilon, survey.protocol]
        cells += [f"{100 * one.covered:.1f}" for one in found]
        cells += [f"{100 * one.concluded:.0f}, {100 * one.disparate:.1f}" for one in found]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def compared(rows: Sequence[Row]) -> str:
    """Return rows as a table in Markdown that has the rule of before beside that of now.

    In percent, for SPD and DI. Before: surveys that were answered, and of these those that covered
    and that found a disparity. Now: of all surveys, those that conclude, cover, find a disparity.
    """
    lines = [
        "| population | n | ε, protocol | DI before | DI now | SPD before | SPD now | EOD before "
        "| EOD now |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for survey, by_metric in _by_survey(rows):
        cells = [
            survey.population,
            f"{survey.respondents:,}",
            f"{survey.epsilon}, {survey.protocol}",
        ]
        for name in ("DI", "SPD", "EOD"):
            measured = by_metric[name]
            before = (
                measured.earlier_answered,
                measured.earlier_covered,
                measured.earlier_disparate,
            )
            now = (measured.concluded, measured.covered, measured.disparate)
            cells.append(
                "none answered"
                if not measured.earlier_answered
                else ", ".join(f"{100 * part:.1f}" for part in before)
            )
            cells.append(", ".join(f"{100 * part:.1f}" for part in now))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _by_survey(rows: Sequence[Row]) -> list[tuple[Row, dict[str, Coverage]]]:
    some = [rows[start : start + len(STUDIED)] for start in range(0, len(rows), len(STUDIED))]
    return [(part[0], {row.metric: row.coverage for row in part}) for part in some]


@click.command()
@click.option(
    "--data",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of adult_26k.csv and lsac.csv.",
)
@click.option("--surveys", type=click.IntRange(min=2), default=SURVEYS, show_default=True)
@click.option("--respondents", type=click.IntRange(min=1), default=RESPONDENTS, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=SEED, show_default=True)
@json_option
@reports_errors
def main(data: Path, surveys: int, respondents: int, seed: int, as_json: bool) -> None:
    """Measure how often the sets of fairness metrics cover the population's value."""
    populations = {
        name: fit_population(data / file, target, protected)
        for name, (file, target, protected) in DATA.items()
    }
    rows = run_study(populations, surveys=surveys, respondents=respondents, seed=seed)
    more = run_study(
        populations, surveys=surveys, respondents=respondents, seed=seed, names=FURTHER
    )
    small = run_hard(populations["Adult"], surveys=surveys, seed=seed)
    others = rules.items(populations, surveys=surveys, seed=seed)
    document = {
        "surveys": surveys,
        "respondents": respondents,
        "seed": seed,
        "populations": {name: people.tolist() for name, people in populations.items()},
        "rows": [_row(row) for row in rows],
        "further": [_row(row) for row in more],
        "small": [_row(row) for row in small],
        "items": [item.to_dict() for item in others],
    }
    emit(
        document,
        lambda: "\n\n".join(
            [markdown(rows), further(more), compared(small), rules.markdown(others)]
        ),
        as_json=as_json,
    )


def _row(row: Row) -> dict[str, Any]:
    return {**asdict(row), "coverage": asdict(row.coverage)}


if __name__ == "__main__":
    main()
