"""Fairness before and after mitigation, with its cost in accuracy, from runs of experiments.

Every method of a seed is tested on the same rows, and the records of a protocol and an epsilon are
the same for all of its methods. So what mitigation changes is measured seed by seed, and its
intervals are those of paired differences.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pandas as pd

from hushpoll_lab.experiments.journal import read_description
from hushpoll_lab.experiments.methods.method import NONE, Trial
from hushpoll_lab.experiments.results.results import read_results
from hushpoll_lab.experiments.results.summaries import Summary
from hushpoll_shared.cli.terminal import reports_errors

BEFORE = "nothing"
GAPS = ("SPD", "EOD", "EODDS")
"""Gaps of positive rates and of true positive rates, and the largest gap of equalised odds."""

SIZED = ("SPD", "EOD")
"""Gaps with a sign, which cancels in a mean over seeds."""

COLUMNS = [
    *("experiment", "records", "mitigation", "accuracy", "its change", "balanced accuracy"),
    *(*GAPS, *(f"size of {name}" for name in SIZED)),
]
BESIDE = {"its change": "change of accuracy", "SPD": "SPD", "EOD": "EOD"}
"""What a page shows of each kind of records; the file beside it has every column."""


@dataclass(frozen=True, slots=True)
class Row:
    """One method on one kind of records.

    Attributes
    ----------
    records : str
        Protocol and epsilon, or that groups were known in clear.
    method : str
        The mitigation.
    means : mapping of str to Summary
        Of each metric over seeds.
    sizes : mapping of str to float
        Of each of `SIZED`, the root of its mean square over seeds: what one training leaves, in
        either direction.
    change : Summary or None
        Of accuracy, from the method without mitigation on the same records, paired by seed; None
        for that method itself.
    """

    records: str
    method: str
    means: Mapping[str, Summary]
    sizes: Mapping[str, float]
    change: Summary | None


def rows(results: pd.DataFrame) -> Iterator[Row]:
    """Yield the rows of a table: those in clear, then each protocol by epsilon.

    Parameters
    ----------
    results : DataFrame
        As ``read_results(folder, Trial)`` gives them; one method is named `BEFORE`.
    """
    results = results.assign(
        EODDS=pd.concat(
            [(results["TPR1"] - results["TPR0"]).abs(), (results["FPR1"] - results["FPR0"]).abs()],
            axis=1,
        ).max(axis=1)
    )
    kinds = results[["protocol", "local_epsilon"]].drop_duplicates()
    ordered = sorted(
        kinds.itertuples(index=False),
        key=lambda kind: (kind.protocol != NONE, kind.protocol, kind.local_epsilon),
    )
    for protocol, epsilon in ordered:
        chosen = results[(results["protocol"] == protocol) & (results["local_epsilon"] == epsilon)]
        shown = "in clear" if protocol == NONE else f"{protocol}, ε = {epsilon:g}"
        before = chosen[chosen["method"] == BEFORE].set_index("seed")["accuracy"]
        for method in dict.fromkeys(results["method"]):
            own = chosen[chosen["method"] == method].set_index("seed")
            if own.empty:
                continue
            change = None
            if method != BEFORE:
                change = Summary.of(own["accuracy"] - before.loc[own.index]).of_all
            means = {
                name: Summary.of(own[name]).of_all for name in ("accuracy", "balanced_acc", *GAPS)
            }
            sizes = {name: math.sqrt(float(own[name].pow(2).mean())) for name in SIZED}
            yield Row(shown, method, means, sizes, change)


def cells(row: Row) -> list[str]:
    """Return what a table shows of a row, with 95 % intervals of the means."""
    change = "" if row.change is None else _signed(row.change)
    return [
        *(row.records, row.method, _shown(row.means["accuracy"]), change),
        *(_shown(row.means[name]) for name in ("balanced_acc", *GAPS)),
        *(f"{row.sizes[name]:.3f}" for name in SIZED),
    ]


def markdown(table: Sequence[Sequence[str]]) -> str:
    """Return a row for each mitigation: in clear, and by the first protocol's lowest epsilon.

    Parameters
    ----------
    table : sequence of sequence of str
        As ``cells`` gives each. In the place of its change, the method without mitigation has its
        accuracy.
    """
    named = [dict(zip(COLUMNS[1:], row, strict=True)) for row in table]
    shown = list(dict.fromkeys(row["records"] for row in named))[:2]
    found = {(row["records"], row["mitigation"]): row for row in named if row["records"] in shown}
    head = [
        "mitigation",
        *(f"{records}: {words}" for records in shown for words in BESIDE.values()),
    ]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for method in dict.fromkeys(method for _, method in found):
        told = [method]
        for records in shown:
            row = found.get((records, method), {})
            told += [row.get(name) or row.get("accuracy", "") for name in BESIDE]
        lines.append(f"| {' | '.join(told)} |")
    return "\n".join(lines)


def section(description: Mapping[str, Any], table: Sequence[Sequence[str]]) -> str:
    """Return one experiment as a section: its data, and its table."""
    configuration, data = description["configuration"], description["data"]
    return "\n\n".join(
        [
            f"## {configuration['name']}",
            f"{data['rows']:,} rows, {len(configuration['seeds'])} seeds, "
            f"{configuration['test_size']:.0%} of the rows to test on.",
            markdown(table),
        ]
    )


def _shown(mean: Summary) -> str:
    half = "" if mean.half is None else f" ± {mean.half:.3f}"
    return f"{mean.mean:.3f}{half}" if math.isfinite(mean.mean) else "undefined"


def _signed(mean: Summary) -> str:
    half = "" if mean.half is None else f" ± {mean.half:.3f}"
    return f"{mean.mean:+.3f}{half}"


@click.command()
@click.argument(
    "runs", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option("--head", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path))
@reports_errors
def main(runs: tuple[Path, ...], head: Path | None, out: Path) -> None:
    """Write the page of one or several RUNS, the --out of hushpoll experiment run, after a head.

    All rows of the tables are written into a CSV file beside the page.
    """
    parts = [] if head is None else [head.read_text(encoding="utf-8").rstrip()]
    every = [COLUMNS]
    for run in runs:
        description = read_description(run)
        table = [cells(row) for row in rows(read_results(run, Trial))]
        parts.append(section(description, table))
        every += [[description["configuration"]["name"], *row] for row in table]
    out.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    with out.with_suffix(".csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows(every)


if __name__ == "__main__":
    main()
