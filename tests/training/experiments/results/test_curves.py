"""Means and intervals over seeds."""

import math

import pandas as pd
import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.experiments.results.curves import Curves, Point, read_results, summarise


def test_the_interval_is_student_s():
    found = summarise([1.0, 2.0, 3.0])
    # t at 97.5 % with two degrees of freedom is 4.302653; the standard error is 1/sqrt(3)
    assert found.mean == 2.0
    assert found.half == pytest.approx(4.302652729911275 / math.sqrt(3))
    assert (found.n, found.seeds) == (3, 3)


def test_one_seed_has_no_interval_and_undefined_ones_do_not_count():
    assert summarise([0.5]) == Point(0.5, None, 1, 1)
    assert summarise([0.5, math.nan]) == Point(0.5, None, 1, 2)
    assert summarise([math.nan]) == Point(None, None, 0, 1)


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


def test_a_run_under_way_is_read_from_its_journal(finished, tmp_path):
    lines = (finished[0] / "cells.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "cells.jsonl").write_bytes(b"".join(lines))
    whole = read_results(finished[0])
    pd.testing.assert_frame_equal(read_results(tmp_path), whole, check_dtype=False)
    # half a line is what it is writing now
    (tmp_path / "cells.jsonl").write_bytes(b"".join(lines[:-1]) + lines[-1][:40])
    some = read_results(tmp_path)
    assert len(some) == len([one for one in lines[:-1] if b'"error"' not in one])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("recall", "hits"), "no column recall"),
        (lambda text: text.replace("GRR", "GRX"), "the protocol 'GRX' is none of NonDP, GRR"),
        (lambda text: text.replace("k-based", "kb"), "the split 'kb' is none of none, uniform"),
        (lambda text: text.replace("NonDP,none,inf,0", "NonDP,none,inf,x"), "holds no results"),
        (lambda text: "", "holds no results"),
    ],
)
def test_a_file_of_no_results_is_named(finished, tmp_path, change, message):
    path = tmp_path / "results.csv"
    path.write_text(change((finished[0] / "results.csv").read_text()))
    with pytest.raises(InvalidParameter, match=message) as caught:
        read_results(path)
    assert caught.value.field == "results"
    assert "give what hushpoll experiment run wrote" in str(caught.value)


def test_baselines_alone_are_no_curves(finished):
    table = read_results(finished[0])
    with pytest.raises(InvalidParameter, match="hold no cell of any protocol"):
        Curves.of(table[table.protocol == "NonDP"])


def test_a_path_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidParameter, match=r"neither a file nor a folder with results\.csv"):
        read_results(tmp_path / "nothing")
