"""Pinned fleets: what ``hushpoll simulate`` draws and perturbs with a seed."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pinned import entry_points
from pinned.entry_points import PROTOCOLS, hushpoll
from pinned.summaries import digest, digest_of_bytes, facts
from pinned.survey import draft

RESPONDENTS = 300
POPULATION: dict[str, Any] = {
    "gender": {"weights": {"Female": 50, "Male": 45, "none": 5}},
    "age": {"weights": {"18..24": 20, "25..37": 80}},
    "region": {"weights": {f"region-{number}": 12 - number for number in range(12)}},
    "job": {
        "given": "gender",
        "weights": {
            "Male": {"clerk": 1, "driver": 4, "nurse": 1, "other": 2},
            "*": {"clerk": 2, "driver": 1, "nurse": 3, "other": 2},
        },
    },
    "hours": {"weights": {"0..4": 30, "5..9": 70}},
    "income": {"logit": {"intercept": -0.5, "effects": {"gender": {"Male": 0.9}}}},
}
WAYS: dict[str, tuple[object, ...]] = {
    "bulk": ("--bulk",),
    "devices": ("--seeded-noise",),
    "maximal poisoners": ("--bulk", "--misbehave", "poison-maximal=0.2"),
    "aiming poisoners": (
        *("--seeded-noise", "--misbehave", "poison-maximal=0.1", "--target", "region=region-3"),
    ),
    "random poisoners": ("--bulk", "--misbehave", "poison-random=0.3"),
}


def parts() -> dict[str, Callable[[], dict[str, Any]]]:
    """Return what computes the values of each protocol."""
    return {name: partial(_fleet, name) for name in PROTOCOLS}


def _fleet(protocol: str) -> dict[str, Any]:
    """Write the reports of each way to simulate to a file, and read their records."""
    manifest = draft(protocol=protocol, population=POPULATION)
    survey = entry_points.published(manifest)
    found: dict[str, Any] = {"digest": survey.digest}
    with TemporaryDirectory() as folder:
        source = Path(folder) / "survey.json"
        source.write_text(json.dumps(manifest), encoding="utf-8")
        common = ("--manifest", source, "--respondents", RESPONDENTS, "--seed", 9)
        answers, truth = Path(folder) / "answers.csv", Path(folder) / "truth.json"
        written = ("--write-answers", answers, "--write-truth", truth)
        hushpoll("simulate", *common, "--dry-run", *written)
        found["answers"] = digest_of_bytes(answers.read_bytes())
        found["truth"] = facts(json.loads(truth.read_text(encoding="utf-8")))
        for way, options in WAYS.items():
            reports = Path(folder) / f"{way}.reports"
            hushpoll("simulate", *common, *options, "--to-file", reports)
            records = entry_points.records_of_reports(
                reports.read_bytes(), survey.layout.record_size
            )
            found[way] = digest(records)
        found["respondents in a file"] = _from_file(Path(folder), source, answers, survey)
    return found


def _from_file(folder: Path, source: Path, answers: Path, survey: Any) -> dict[str, Any]:
    """Return the records of the drawn respondents where another seed draws their noise."""
    reports = folder / "again.reports"
    options = ("--data", answers, "--bulk", "--seed", 10)
    hushpoll("simulate", "--manifest", source, *options, "--to-file", reports)
    return digest(entry_points.records_of_reports(reports.read_bytes(), survey.layout.record_size))
