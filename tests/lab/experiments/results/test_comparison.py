"""Means beside a reference: distances, misses, and what is not a reference."""

import math

import pytest

from hushpoll_lab.experiments.results.comparison import Row, compare
from hushpoll_lab.experiments.results.results import read_results
from hushpoll_lab.experiments.results.summaries import (
    Place,
    Summary,
    read_summaries,
    summarise_results,
)
from hushpoll_lab.experiments.results.tables import agreement, misses
from hushpoll_protocols.errors import InvalidParameter

GRR = Place("GRR", "uniform", 4.0)
SS = Place("SS", "k-based", 0.25)
HEADER = "protocol,split,epsilon,runs,acc_mean,acc_sd,DI_mean,DI_sd\n"


def row(mean, *, sd=0.01, runs=20, ours=0.8, n=20):
    return Row(GRR, "accuracy", Summary(ours, 0.5, n), Summary(mean, sd, runs))


def test_the_standard_error_of_twenty_seeds_each_is_the_papers_sd_times_root_two_twentieths():
    assert row(0.8).standard_error == pytest.approx(0.01 * math.sqrt(2 / 20))
    assert row(0.8, n=5).standard_error == pytest.approx(0.01 * math.sqrt(1 / 20 + 1 / 5))


def test_the_distance_is_signed_and_in_standard_errors():
    unit = 0.01 * math.sqrt(0.1)
    assert row(0.8 - 2 * unit).distance == pytest.approx(2)
    assert row(0.8 + 3.5 * unit).distance == pytest.approx(-3.5)


def test_without_deviation_only_equal_means_agree():
    assert row(0.8 + 4e-6, sd=0.0).distance == 0
    assert row(0.81, sd=0.0).distance == math.inf
    # deviations below the rounding cannot make equal means a miss
    assert row(0.8 + 9e-6, sd=1e-7).distance == 0


def test_misses_are_listed_the_farthest_first_and_cells_that_were_not_run_are_named():
    unit = math.sqrt(0.1)
    known = Summary(0.0, 1.0, 20)
    reference = {SS: {"accuracy": known, "DI": known}, GRR: {"accuracy": known, "DI": known}}
    ours = {
        GRR: {
            "accuracy": Summary(3.01 * unit, 1.0, 20),
            "DI": Summary(-9 * unit, 1.0, 20),
            "f1": known,
        }
    }
    found = compare(ours, reference)
    assert [one.metric for one in found.rows] == ["accuracy", "DI"]
    assert [(one.metric, round(one.distance, 2)) for one in found.misses] == [
        ("DI", -9.0),
        ("accuracy", 3.01),
    ]
    assert found.share == 0
    assert found.missing == (SS,)
    assert found.spread == pytest.approx(math.sqrt((3.01**2 + 81) / 2))
    assert compare(ours, reference, limit=4).share == 0.5
    # Student's t with 19 degrees of freedom is beyond 3 with a chance of 0.00737
    assert found.expected == pytest.approx(2 * 0.00737, abs=2e-5)
    assert agreement(found).startswith("0 of 2 means (0.0%) are within 3 standard errors")
    assert misses(found)[0][:4] == ["GRR", "uniform", "4", "DI"]


def test_nothing_in_common_is_refused():
    known = {"accuracy": Summary(0.0, 1.0, 20)}
    with pytest.raises(InvalidParameter, match="no cell in common"):
        compare({GRR: known}, {SS: known})


def test_an_undefined_value_does_not_count_and_one_value_has_no_deviation():
    assert Summary.of([1.0, math.nan, 3.0]) == Summary(2.0, math.sqrt(2), 2, 3)
    undefined = Summary.of([math.nan])
    assert math.isnan(undefined.mean)
    assert (undefined.runs, undefined.seeds, undefined.half) == (0, 1, None)
    assert math.isnan(Summary.of([1.0]).sd)


def test_a_published_table_is_read_in_its_own_spelling(tmp_path):
    path = tmp_path / "published.csv"
    path.write_text(HEADER + "NonDP,none,inf,20,0.8,0.01,0.4,0.02\nSS,k_based,0.25,5,0.7,0,1,2\n")
    found = read_summaries(path)
    assert found == {
        Place("NonDP", "none", math.inf): {
            "accuracy": Summary(0.8, 0.01, 20),
            "DI": Summary(0.4, 0.02, 20),
        },
        SS: {"accuracy": Summary(0.7, 0.0, 5), "DI": Summary(1.0, 2.0, 5)},
    }


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("GRX,uniform,4,20,1,1,1,1", r"row 1 \(line 2\) is no row of means .*GRX uniform"),
        ("GRR,uniform,4,20,x,1,1,1", r"row 1 \(line 2\), column acc_mean: 'x' is no number"),
        ("GRR,uniform,4,2.5,1,1,1,1", r"row 1 \(line 2\) is no row of means .*'2.5' is no whole"),
        ("GRR,u", r"row 1 \(line 2\) has 2 values"),
    ],
)
def test_a_row_that_is_none_is_named(tmp_path, line, words):
    path = tmp_path / "published.csv"
    path.write_text(f"{HEADER}{line}\n")
    with pytest.raises(InvalidParameter, match=rf"published\.csv {words}"):
        read_summaries(path)


def test_a_table_without_rows_and_a_path_to_nothing_are_refused(tmp_path):
    path = tmp_path / "published.csv"
    path.write_text(HEADER)
    with pytest.raises(InvalidParameter, match="has no rows"):
        read_summaries(path)
    with pytest.raises(InvalidParameter, match="is no file"):
        read_summaries(tmp_path / "nothing.csv")


def test_another_run_is_a_reference_as_well(finished):
    out = finished[0]
    ours = summarise_results(read_results(out))
    assert [str(one) for one in ours][:2] == ["NonDP", "GRR uniform epsilon 4"]
    for path in (out, out / "results.csv", out / "results.parquet"):
        found = compare(ours, read_summaries(path))
        assert len(found.rows) == 5 * 8
        assert {one.distance for one in found.rows} == {0.0}
    table = read_results(out)
    grr = table[(table.protocol == "GRR") & (table.split == "uniform")]["DI"]
    place = Place("GRR", "uniform", 4.0)
    assert ours[place]["DI"].mean == pytest.approx(grr.mean(), abs=1e-15)
    assert ours[place]["DI"].sd == pytest.approx(grr.std(), abs=1e-15)
