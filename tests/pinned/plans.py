"""Pinned plans: what ``hushpoll plan`` says of a draft."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pinned.entry_points import hushpoll, outlook
from pinned.summaries import facts
from pinned.survey import draft, perturbed_target

OPTIONS = {
    "default": ("--n", 5000),
    "EOD": ("--n", 200000, "--metric", "EOD", "--gap", 0.2, "--positive", 0.4, "--recall", 0.5),
}

OUTLOOKS: dict[str, Callable[[], Any]] = {
    "EOD": lambda: facts(outlook(draft(), 200000, metric="EOD", gap=0.2, positive=0.4, recall=0.5)),
    "perturbed-target": lambda: facts(outlook(perturbed_target("SS"), 10000)),
}
"""What is told of the draft alone, by the name of the plan that has the same."""


def parts() -> dict[str, Callable[[], dict[str, Any]]]:
    """Return what computes the plan for each set of options."""
    plans = {name: partial(_plan, draft(), *options) for name, options in OPTIONS.items()}
    plans["perturbed-target"] = partial(_plan, perturbed_target("SS"), "--n", 10000)
    return plans


def _plan(manifest: dict[str, Any], *options: object) -> Any:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "survey.json"
        path.write_text(json.dumps(manifest), encoding="utf-8")
        return facts(json.loads(hushpoll("plan", path, *options, "--json")))
