"""results.csv and results.parquet."""

import csv
import math

import pandas as pd
import pytest

from hushpoll_lab.experiments.grid import Task
from hushpoll_lab.experiments.results.results import COLUMNS, read_results, write_results
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.evaluation.metrics import METRICS

TIMINGS = {"perturb": 0.25, "fit": 1.5, "score": 0.125}
DEFINED = {name: (at + 1) / 3 for at, name in enumerate(METRICS)}


def test_the_columns_are_exactly_these(finished):
    with (finished[0] / "results.csv").open(newline="") as stream:
        header = next(csv.reader(stream))
    text = (
        "protocol split epsilon seed accuracy f1 roc_auc balanced_acc recall DI SPD EOD OAD "
        "P1 P0 TPR1 TPR0 FPR1 FPR0 ACC1 ACC0 perturb_seconds fit_seconds score_seconds undefined"
    )
    assert header == text.split() == list(COLUMNS)


def test_rows_are_sorted_with_the_baseline_first(finished):
    with (finished[0] / "results.csv").open(newline="") as stream:
        rows = [tuple(row.values())[:4] for row in csv.DictReader(stream)]
    assert rows == [
        *(("NonDP", "none", "inf", seed) for seed in "012"),
        *(
            (protocol, split, "4", seed)
            for protocol in ("GRR", "OUE")
            for split in ("uniform", "k-based")
            for seed in "012"
        ),
    ]


def test_parquet_holds_the_same(finished):
    text = pd.read_csv(
        finished[0] / "results.csv",
        keep_default_na=False,
        dtype=str,
    )
    table = pd.read_parquet(finished[0] / "results.parquet")
    assert table.columns.tolist() == text.columns.tolist()
    for name in COLUMNS:
        kind = str if table[name].dtype.kind not in "if" else float
        assert table[name].tolist() == [kind(one) for one in text[name]]
    assert table["epsilon"].max() == math.inf
    assert table["seed"].dtype == "int64"


@pytest.fixture
def cells():
    undefined = DEFINED | {"DI": {"undefined": "nobody, chosen"}, "P1": {"undefined": "no row"}}
    return {
        Task("GRR", "uniform", "4", 1): {"metrics": DEFINED, "timings": TIMINGS},
        Task("GRR", "uniform", "4", 0): {"metrics": undefined, "timings": TIMINGS},
        Task("GRR", "uniform", "4", 2): {"error": "no, memory"},
    }


def test_an_undefined_metric_is_empty_and_has_its_reason(cells, tmp_path):
    write_results(tmp_path, cells)
    with (tmp_path / "results.csv").open(newline="") as stream:
        first, second = csv.DictReader(stream)
    assert (first["DI"], first["P1"]) == ("", "")
    assert first["undefined"] == "DI: nobody, chosen; P1: no row"
    assert float(first["SPD"]) == DEFINED["SPD"]
    assert second["undefined"] == ""
    assert float(second["DI"]) == DEFINED["DI"]
    table = pd.read_parquet(tmp_path / "results.parquet")
    assert table["DI"].isna().tolist() == [True, False]


def test_failures_have_a_file_of_their_own_while_there_are_any(cells, tmp_path):
    write_results(tmp_path, cells)
    failed = pd.read_csv(tmp_path / "failures.csv")
    assert failed.to_dict("records") == [
        {"protocol": "GRR", "split": "uniform", "epsilon": 4, "seed": 2, "error": "no, memory"}
    ]
    cells.popitem()
    write_results(tmp_path, cells)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["results.csv", "results.parquet"]


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
        (
            lambda text: text.replace("NonDP,none,inf,0", "NonDP,none,inf,x"),
            r"holds no results \(.* row [0-9]+ \(line [0-9]+\), column seed: 'x' is no number",
        ),
        (lambda text: "", "holds no results .*is empty"),
    ],
)
def test_a_file_of_no_results_is_named(finished, tmp_path, change, message):
    path = tmp_path / "results.csv"
    path.write_text(change((finished[0] / "results.csv").read_text()))
    with pytest.raises(InvalidParameter, match=message) as caught:
        read_results(path)
    assert caught.value.field == "results"
    assert "give what hushpoll experiment run wrote" in str(caught.value)


def test_a_path_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidParameter, match=r"neither a file nor a folder with results\.csv"):
        read_results(tmp_path / "nothing")
