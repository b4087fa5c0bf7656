"""Means and intervals over seeds, and what figures draw of them."""

import math

import pytest

from hushpoll_lab.experiments.results.results import read_results
from hushpoll_lab.experiments.results.summaries import Curves, Summary
from hushpoll_protocols.errors import InvalidParameter


def test_the_interval_is_student_s():
    summary = Summary.of([1.0, 2.0, 3.0])
    # t at 97.5 % with two degrees of freedom is 4.302653; the standard error is 1/sqrt(3)
    assert summary.mean == 2.0
    assert summary.half == pytest.approx(4.302652729911275 / math.sqrt(3))
    assert (summary.runs, summary.seeds) == (3, 3)


def test_one_seed_has_no_interval_and_undefined_ones_do_not_count():
    for values in ([0.5], [0.5, math.nan]):
        summary = Summary.of(values)
        assert (summary.mean, summary.half) == (0.5, None)
        assert (summary.runs, summary.seeds) == (1, len(values))


def test_the_folder_and_both_files_give_the_same_curves(finished):
    out = finished[0]
    found = [Curves.of(read_results(out / name)) for name in ("", "results.csv", "results.parquet")]
    assert found[0] == found[1] == found[2]
    assert found[0].protocols == ("GRR", "OUE")
    assert found[0].splits == ("uniform", "k-based")
    assert found[0].epsilons == (4.0,)
    table = read_results(out)
    expected = table[(table.protocol == "OUE") & (table.split == "k-based")]["recall"].mean()
    [(epsilon, mean, _)] = found[0].line("OUE", "k-based", "recall")
    assert (epsilon, mean) == (4.0, pytest.approx(expected, abs=1e-15))
    baseline = table[table.protocol == "NonDP"]["DI"].mean()
    assert found[0].baseline("DI").mean == pytest.approx(baseline, abs=1e-15)


def test_baselines_alone_are_no_curves(finished):
    table = read_results(finished[0])
    with pytest.raises(InvalidParameter, match="hold no cell of any protocol"):
        Curves.of(table[table.protocol == "NonDP"])
