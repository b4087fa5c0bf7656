"""The survey whose results are pinned, and the people who answer it."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

PEOPLE = 3000
REGIONS = [f"region-{number}" for number in range(12)]

Codes = dict[str, npt.NDArray[np.int64]]


def draft(**changes: Any) -> dict[str, Any]:
    """Return the manifest as a dict."""
    return {
        "name": "pinned",
        "version": 1,
        "title": "Pinned",
        "epsilon": "6",
        "split": "uniform",
        "protocol": "OUE",
        "attributes": [
            {
                "name": "gender",
                "role": "sensitive",
                "categories": ["Female", "Male"],
                "missing": "none",
            },
            {"name": "age", "role": "sensitive", "range": [18, 37]},
            {"name": "region", "role": "sensitive", "categories": REGIONS},
            {"name": "job", "role": "plain", "categories": ["clerk", "driver", "nurse", "other"]},
            {"name": "hours", "role": "plain", "range": [0, 9]},
            {"name": "income", "role": "target", "categories": ["low", "high"], "positive": "high"},
        ],
        "protected": {"attribute": "gender", "privileged": "Male", "unprivileged": "Female"},
    } | changes


def perturbed_target(protocol: str) -> dict[str, Any]:
    """Return the manifest with a perturbed target that may be left unanswered."""
    changed = draft(protocol=protocol)
    changed["attributes"][-1] |= {"protocol": "GRR", "missing": "none"}
    return changed


def people(n: int = PEOPLE, seed: int = 20) -> Codes:
    """Draw the codes of n people; income depends on gender, age, region, job and hours."""
    rng = np.random.default_rng(seed)
    codes = {
        "gender": rng.choice(3, n, p=[0.5, 0.45, 0.05]),
        "age": np.minimum(rng.geometric(0.12, n) - 1, 19),
        "region": rng.choice(12, n, p=np.arange(12, 0, -1) / 78),
        "job": rng.integers(0, 4, n),
        "hours": rng.integers(0, 10, n),
    }
    logit = -1.2 + 0.9 * (codes["gender"] == 1) + 0.08 * codes["age"] - 0.1 * codes["region"]
    logit += 0.25 * codes["hours"] - 0.8 * (codes["job"] == 2)
    codes["income"] = rng.random(n) < 1 / (1 + np.exp(-logit))
    return {name: values.astype(np.int64) for name, values in codes.items()}


def write_people(path: Path, domains: dict[str, tuple[str, ...]], codes: Codes) -> Path:
    """Write codes as categories to a CSV file."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(domains)
        columns = [[domain[code] for code in codes[name]] for name, domain in domains.items()]
        writer.writerows(zip(*columns, strict=True))
    return path
