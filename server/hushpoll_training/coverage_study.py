"""Do the intervals of an audit cover the truth? A study on populations fitted to real data.

A population is a table of group, label and prediction: a model is fitted beforehand to one half of
a data set, without the protected attribute, and the other half gives the shares. From these,
surveys are drawn anew, respondents and noise (:mod:`hushpoll_analysis.fairness_coverage`).
``scripts/coverage-study`` runs it in full.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt

from hushpoll_analysis.fairness_coverage import Coverage, coverage
from hushpoll_analysis.fairness_rates import METRICS
from hushpoll_protocols import create
from hushpoll_shared.terminal import emit, json_option, reports_errors
from hushpoll_training.coded import describe_codes, read_codes
from hushpoll_training.features import Features
from hushpoll_training.learner import fit, scores
from hushpoll_training.target import THRESHOLD

DATA: Mapping[str, tuple[str, str, str]] = {
    "Adult": ("adult_26k.csv", "income", "gender"),
    "LSAC": ("lsac.csv", "pass_bar", "race1"),
}
"""File, target and protected attribute; group 1 is the privileged one."""

PROTOCOLS = ("GRR", "OUE", "OLH", "BLH")
EPSILONS = ("1", "4")
RESPONDENTS = 20_000
SURVEYS = 5_000
SEED = 2023


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of one population, protocol and epsilon."""

    population: str
    protocol: str
    epsilon: str
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
    everything = Features.of(published)
    kept = [
        column
        for column, name in enumerate(everything.names)
        if not name.startswith(f"{protected}=")
    ]
    rows = everything.from_codes(codes)[:, kept]
    label = codes[target]
    order = np.random.default_rng(SEED).permutation(len(label))
    fitted, asked = np.array_split(order, 2)
    names = [everything.safe_names[column] for column in kept]
    model = fit(rows[fitted], label[fitted], names, {}, seed=0)
    predicted = (scores(model, rows[asked]) > THRESHOLD).astype(np.int64)
    people = np.zeros((2, 2, 2))
    np.add.at(people, (codes[protected][asked], label[asked], predicted), 1.0)
    return people


def run_study(
    populations: Mapping[str, npt.NDArray[np.float64]],
    *,
    surveys: int = SURVEYS,
    respondents: int = RESPONDENTS,
    seed: int = SEED,
) -> list[Row]:
    """Return the coverage of every metric in every population, for each protocol and epsilon."""
    found = []
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
                )
                found += [
                    Row(name, protocol, epsilon, metric, one) for metric, one in by_metric.items()
                ]
    return found


def markdown(rows: Sequence[Row]) -> str:
    """Return the study as a table in Markdown, a line per population, epsilon and protocol.

    Coverage is in percent, refusals being misses; where the group is too small to be audited, that
    of the surveys which were answered follows in brackets.
    """
    lines = [
        "| population | ε | protocol | DI | SPD | EOD | OAD | sd of SPD, EOD | refused, SPD, EOD "
        "| respondents it takes, SPD, EOD | worth, SPD |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for number in range(0, len(rows), len(METRICS)):
        some = rows[number : number + len(METRICS)]
        found = {row.metric: row.coverage for row in some}
        spd, eod = found["SPD"], found["EOD"]
        cells = [
            some[0].population,
            some[0].epsilon,
            some[0].protocol,
            *(_covered(found[name]) for name in METRICS),
            f"{spd.deviation:.4f}, {eod.deviation:.4f}",
            f"{100 * (1 - spd.answered):.1f} %, {100 * (1 - eod.answered):.1f} %",
            f"{spd.respondents:,}; {eod.respondents:,}",
            "" if spd.gain is None else f"{spd.gain**2:.2f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _covered(found: Coverage) -> str:
    if found.auditable:
        return f"{100 * found.covered:.1f}"
    return f"{100 * found.covered:.1f} ({100 * found.covered_where_answered:.1f})"


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
    """Measure how often the intervals of DI, SPD, EOD and OAD cover the population's value."""
    populations = {
        name: fit_population(data / file, target, protected)
        for name, (file, target, protected) in DATA.items()
    }
    rows = run_study(populations, surveys=surveys, respondents=respondents, seed=seed)
    document = {
        "surveys": surveys,
        "respondents": respondents,
        "seed": seed,
        "populations": {name: people.tolist() for name, people in populations.items()},
        "rows": [
            {
                "population": row.population,
                "protocol": row.protocol,
                "epsilon": row.epsilon,
                "metric": row.metric,
                "truth": row.coverage.truth,
                "covered": row.coverage.covered,
                "answered": row.coverage.answered,
                "bias": row.coverage.bias,
                "deviation": row.coverage.deviation,
                "strength": row.coverage.strength,
                "large_enough": row.coverage.auditable,
                "respondents_needed": row.coverage.respondents,
            }
            for row in rows
        ],
    }
    emit(document, lambda: markdown(rows), as_json=as_json)


if __name__ == "__main__":
    main()
