"""A logit of one million records of Adult's domains, in a process of its own.

Income has six predictors: age, hours, marital status and race in clear, gender and education
perturbed (32 combinations). The predictors in clear are those of Adult's rows. The others are drawn
from a multinomial logit given them ("model"), or are those of the same rows ("rows"), which no such
logit describes well. The peer is statsmodels' logit of the same answers in clear.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.adult import load_codes
from benchmarks.harness import Figure, against, announced

PROCESSORS = 2
SECONDS_LIMIT = 30.0 * PROCESSORS
"""Of processor time: other work on the machine does not count, and two processors share it."""
BYTES_LIMIT = 1.5e9
FORMULA = "income ~ age + hours + marital_status + race + gender + education"
PERTURBED = ("gender", "education")
PROTOCOL, EPSILON = "GRR", "2"


def fitting(data: Path, scale: float) -> list[Figure]:
    """Fit the logit in fresh processes, to predictors drawn in both ways."""
    rows, found = int(1_000_000 * scale), []
    for source in ("model", "rows"):
        with announced(f"regression of {rows:,} records of Adult's domains, {source}"):
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.regression", str(data), str(rows), source],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
        run = json.loads(done.stdout)
        print(f"  {json.dumps(run)}")
        title = f"logit of {rows:,} records, 32 perturbed combinations of the {source}"
        seconds = run["processor"] if run["converged"] else float("inf")
        for name, ours, peer, peer_name, unit, goal in (
            (f"{title}: processor time", seconds, SECONDS_LIMIT, "limit", "s", 1.0),
            (f"{title}: peak of memory", run["peak"] / 1e9, BYTES_LIMIT / 1e9, "limit", "GB", 1.0),
            (
                f"{title}: processor time",
                seconds,
                run["peer"],
                "statsmodels' logit of the answers",
                "s",
                0.0,
            ),
        ):
            found.append(
                against(
                    name,
                    unit=unit,
                    ours=ours,
                    peer=peer,
                    peer_name=peer_name,
                    goal=goal,
                    repeats=1,
                )
            )
    return found


def drawn(data: Path, rows: int, source: str, rng: np.random.Generator) -> dict[str, Any]:
    """Draw the columns' codes."""
    codes = load_codes(data / "adult_26k.csv")
    taken = rng.integers(0, len(codes), rows)
    columns = {name: codes[name].to_numpy()[taken] for name in codes}
    shares = np.bincount(16 * codes["gender"] + codes["education"], minlength=32) / len(codes)
    if source == "model":
        logits = np.tile(np.log(np.maximum(shares, 1e-3)), (rows, 1))
        for name in ("age", "hours-per-week", "marital-status"):
            known = columns[name]
            logits += ((known - known.mean()) / known.std())[:, None] * rng.normal(0, 0.3, 32)
        both = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
        columns["gender"], columns["education"] = both // 16, both % 16
    slopes = rng.normal(0, 0.6, 16)
    eta = -1.0 + 0.02 * (columns["age"] - 20) + 0.02 * (columns["hours-per-week"] - 40)
    eta += 0.6 * (columns["marital-status"] == 2) + 0.4 * columns["gender"]
    eta += slopes[columns["education"]]
    columns["income"] = (rng.random(rows) < 1 / (1 + np.exp(-eta))).astype(np.int64)
    return columns


def measure(data: Path, rows: int, source: str) -> dict[str, Any]:
    """Fit, and say how long it took, the peak of memory, and how far slopes are from the truth."""
    from hushpoll_analysis.regression.answers import (
        Answers,
        Categories,
        Numbers,
        Unit,
        patterns_of,
    )
    from hushpoll_analysis.regression.combinations import Question
    from hushpoll_analysis.regression.model import fit
    from hushpoll_protocols import create
    from hushpoll_protocols.kernels import perturb

    rng = np.random.default_rng(0)
    columns = drawn(data, rows, source, rng)
    units = []
    for name in PERTURBED:
        k = int(columns[name].max()) + 1
        oracle = create(PROTOCOL, k=k, epsilon=EPSILON)
        patterns, places = patterns_of(oracle, perturb(oracle, columns[name], rng))
        question = Question(name, tuple(map(str, range(k))))
        units.append(Unit(name, (question,), patterns, places))
    clear: dict[str, Numbers | Categories] = {
        "age": Numbers("age", columns["age"].astype(np.float64)),
        "hours": Numbers("hours", columns["hours-per-week"].astype(np.float64)),
    }
    for name in ("marital-status", "race", "income"):
        short = name.replace("-", "_")
        domain = tuple(map(str, range(int(columns[name].max()) + 1)))
        clear[short] = Categories(short, columns[name], domain)
    answers = Answers(rows, clear, tuple(units))
    few = answers.taken(np.arange(min(rows, 3_000)))
    fit("income ~ age + gender", few)  # compiled before it is timed
    start, busy = time.perf_counter(), time.process_time()
    found = fit(FORMULA, answers)
    result = {
        "seconds": time.perf_counter() - start,
        "processor": time.process_time() - busy,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "converged": found.converged,
        "steps": found.steps,
        "log_likelihood": found.log_likelihood,
    }
    del answers, units, clear
    return {**result, **_peer(columns, found)}


def _peer(columns: dict[str, Any], found: Any) -> dict[str, Any]:
    import statsmodels.api as sm

    parts = [np.ones(len(columns["age"])), columns["age"], columns["hours-per-week"]]
    for name in ("marital-status", "race", "gender", "education"):
        parts += [columns[name] == level for level in range(1, int(columns[name].max()) + 1)]
    X = np.column_stack(parts).astype(np.float64)
    start = time.process_time()
    peer = sm.Logit(columns["income"], X).fit(disp=0)
    seconds = time.process_time() - start
    known = [
        (one.estimate, one.standard_error, truth)
        for one, truth in zip(found.coefficients, peer.params, strict=True)
        if one.estimate is not None and one.standard_error
    ]
    apart = [abs(estimate - truth) / error for estimate, error, truth in known]
    return {
        "peer": seconds,
        "told": len(known),
        "of": len(found.coefficients),
        "median_standard_errors_from_clear": float(np.median(apart)),
        "largest": float(np.max(apart)),
    }


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])))
