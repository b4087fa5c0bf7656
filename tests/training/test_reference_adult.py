"""The paper's published runs on Adult, reproduced through our own protocols and encoding."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.paper import CELLS, METRICS, STANDARD_ERRORS, compare


@pytest.mark.data
def test_means_over_five_seeds_are_the_papers(data_dir: Path) -> None:
    comparisons = compare(data_dir)
    print(*comparisons, sep="\n")
    assert len(comparisons) == len(CELLS) * len(METRICS)
    assert [str(one) for one in comparisons if one.distance > STANDARD_ERRORS] == []


@pytest.mark.data
def test_the_baseline_is_the_papers(data_dir: Path) -> None:
    comparisons = compare(data_dir, [("NonDP", "none")], range(2))
    print(*comparisons, sep="\n")
    assert [str(one) for one in comparisons if one.distance > STANDARD_ERRORS] == []
