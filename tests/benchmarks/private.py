"""Learners of rows in clear: DP-SGD against Opacus' own loop, and each learner's time to fit.

They need PyTorch, which the other benchmarks do without: ``scripts/bench-dpsgd``.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks.adult import load_codes, resolve
from benchmarks.harness import Figure, against, alternate, announced, seconds
from benchmarks.results import Result, keep, show
from hushpoll_lab.central.dpsgd import SgdPlan, train_dpsgd
from hushpoll_lab.central.draws import import_torch
from hushpoll_training.encodings.indicator import one_hot_features
from hushpoll_training.learner_registry import LEARNERS, create_learner
from hushpoll_training.learners.design import Design
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.models.model import design, take
from hushpoll_training.runs.cell import split_rows

NAMES: Final = ("dpsgd", "learners")
SHARE: Final = 0.8
"""Of the rows a second of Opacus' own loop, at least."""
LONGEST: Final = 60.0
"""Seconds of one fit, at most."""
BATCH, EPOCHS = 1024, 5
PAPERS: Final[dict[str, dict[str, Any]]] = {
    "lightgbm": {"max_depth": 38, "learning_rate": 0.02255696731716368, "n_estimators": 1100},
}
"""Parameters of a paper, where they are not the defaults; with parity, those of the one behind."""
SYNTHETIC_ROWS: Final = 1_500_000
SYNTHETIC_COLUMNS: Final = 20


def adult(data: Path) -> Design:
    """Return the training rows of Adult in clear, one-hot: 36,679 rows of 268 columns."""
    codes = load_codes(data / "adult_26k.csv")
    published = resolve(codes, protocol="GRR", split="uniform")
    columns = {name: codes[name].to_numpy() for name in codes}
    train, _ = split_rows(published, columns, 0)
    kept = take(columns, train)
    features = one_hot_features(published)
    return design(features, features.from_codes(kept), kept["income"])


def against_opacus(rows: Design) -> list[Figure]:
    """DP-SGD of a network, ours and by the loop of Opacus' examples, in turns."""
    figures = []
    for hidden, name in (((), "logistic regression"), ((32,), "one hidden layer of 32")):
        ours, theirs = _ours(rows, hidden), _opacus(rows, hidden)
        with announced(f"DP-SGD, {name}, {EPOCHS} epochs of {rows.label.size:,} rows, in turns"):
            ours()
            theirs()
            costs = alternate(ours, theirs)
        each = 1e6 / (EPOCHS * rows.label.size)
        figures.append(
            against(
                f"DP-SGD on Adult, {name}, batches of {BATCH}, one thread",
                unit="µs/row",
                ours=costs[0] * each,
                peer=costs[1] * each,
                peer_name="the loop of Opacus' examples, with its Poisson loader",
                goal=SHARE,
            )
        )
    return figures


def _ours(rows: Design, hidden: tuple[int, ...]) -> Callable[[], object]:
    plan = SgdPlan(hidden, epochs=EPOCHS, batch_size=BATCH)
    return lambda: train_dpsgd(rows.table, rows.label, plan)


def _opacus(rows: Design, hidden: tuple[int, ...]) -> Callable[[], object]:
    torch = import_torch()
    from opacus import PrivacyEngine

    def train() -> None:
        table = torch.from_numpy(csr_matrix(rows.table).toarray().astype(np.float32))
        label = torch.from_numpy(rows.label.astype(np.float32))
        sizes = [table.shape[1], *hidden, 1]
        layers: list[Any] = []
        for inputs, outputs in pairwise(sizes):
            layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
        model = torch.nn.Sequential(*layers[:-1])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        loader = torch.utils.data.DataLoader(
            torch.utils.data.TensorDataset(table, label), batch_size=BATCH
        )
        model, optimizer, loader = PrivacyEngine().make_private(
            module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=1.0,
            max_grad_norm=1.5,
        )  # fmt: skip
        criterion = torch.nn.BCEWithLogitsLoss()
        model.train()
        for _ in range(EPOCHS):
            for batch, target in loader:
                optimizer.zero_grad()
                criterion(model(batch).squeeze(1), target).backward()
                optimizer.step()

    return train


def fits(rows: Design) -> list[Figure]:
    """Fit every learner to Adult, and output perturbation to as many rows as a paper made up."""
    cases = [(name, rows, "Adult") for name in LEARNERS]
    made = f"{SYNTHETIC_ROWS:,} made-up rows of {SYNTHETIC_COLUMNS} columns"
    cases.append(("output-perturbation", _synthetic(), made))
    figures = []
    for name, table, source in cases:
        chosen = PAPERS.get(name.removesuffix("-parity"), {})
        learner = create_learner(name, chosen)
        with announced(f"fit {name} to {source}"):
            spent = seconds(lambda: learner.fit(table, FitOptions()))  # noqa: B023
            print(f"  {spent:.1f} s", flush=True)
        figures.append(
            against(
                f"one fit of {name} to {source}",
                unit="s",
                ours=spent,
                peer=LONGEST,
                peer_name="limit",
                goal=1,
                repeats=1,
            )
        )
    return figures


def _synthetic() -> Design:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(SYNTHETIC_ROWS, SYNTHETIC_COLUMNS)).astype(np.float32)
    label = (table[:, 0] + rng.normal(size=SYNTHETIC_ROWS) > 0).astype(np.int64)
    return Design(table, label, tuple(f"x{number}" for number in range(SYNTHETIC_COLUMNS)))


def main() -> int:
    """Measure, print the figures, and return 1 if a goal was missed."""
    parser = argparse.ArgumentParser(prog="scripts/bench-dpsgd", description=__doc__)
    given = Path(os.environ.get("HUSHPOLL_DATA", "../shared/data"))
    parser.add_argument("--data", type=Path, default=given, help="folder of adult_26k.csv")
    parser.add_argument("--json", type=Path, help="also keep the figures here")
    parser.add_argument("--only", choices=NAMES, action="append", help="one benchmark by name")
    options = parser.parse_args()
    # Opacus says at each start that its noise is no good for cryptography, and PyTorch that hooks
    # see no gradient of the rows.
    warnings.simplefilter("ignore")
    import_torch().set_num_threads(1)
    rows = adult(options.data)
    results = {}
    for name in options.only or NAMES:
        load = os.getloadavg()[0]
        measured = against_opacus(rows) if name == "dpsgd" else fits(rows)
        results[name] = Result(measured, load, 1.0)
    if options.json:
        keep(options.json, None, results)
    figures = [figure for result in results.values() for figure in result.figures]
    show(figures)
    return 0 if all(figure.reached for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
