"""Today's results against the pinned ones; the package says what is compared how."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pinned.arithmetic import arithmetic
from pinned.cells import DATA_SETS
from pinned.comparison import differences
from pinned.files import CELLS, FULL_CELLS, WITHOUT_DATA, compared, compute, origin, parts_of, read
from pinned.plans import OUTLOOKS

SHOWN = 12
"""Places that a failure names."""


def check(name: str, key: str, part: Callable[[], dict[str, Any]]) -> None:
    places = compared(name, key, compute(part))
    if places:
        more = [] if len(places) <= SHOWN else [f"and {len(places) - SHOWN} more"]
        pytest.fail("\n".join([f"{name}.json{origin(name)}", *places[:SHOWN], *more]))


@pytest.mark.parametrize(
    ("name", "key"),
    [
        pytest.param(name, key, marks=[pytest.mark.slow] if key in OUTLOOKS else [])
        for name, parts in WITHOUT_DATA.items()
        for key in parts
    ],
)
def test_results_are_the_pinned_ones(name: str, key: str) -> None:
    check(name, key, WITHOUT_DATA[name][key])


@pytest.mark.parametrize("key", OUTLOOKS)
def test_outlooks_are_what_the_pinned_plans_say_of_the_draft(key: str) -> None:
    """A plan that is compared whole takes ten times as long; one of them is in every run."""
    plans = read("plans")
    told, plan = compute(OUTLOOKS[key]), plans["parts"][key]
    pinned = {**plan, "own": plan["options"][0]}
    same = plans["arithmetic"] == arithmetic()
    assert told.pop("shuffled") is None
    assert list(differences({one: pinned[one] for one in told}, told, same=same, path=key)) == []


@pytest.mark.data
@pytest.mark.parametrize("key", DATA_SETS)
def test_cells_of_a_data_set_are_the_pinned_ones(key: str, data_dir: Path) -> None:
    check(CELLS, key, parts_of(CELLS, data_dir)[key])


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("key", DATA_SETS)
def test_cells_at_full_size_are_the_pinned_ones(key: str, data_dir: Path) -> None:
    check(FULL_CELLS, key, parts_of(FULL_CELLS, data_dir)[key])


@pytest.mark.parametrize("name", [*WITHOUT_DATA, CELLS, FULL_CELLS])
def test_no_pinned_part_is_left_out(name: str) -> None:
    computed = DATA_SETS if name in (CELLS, FULL_CELLS) else WITHOUT_DATA[name]
    assert read(name)["parts"].keys() == computed.keys()
