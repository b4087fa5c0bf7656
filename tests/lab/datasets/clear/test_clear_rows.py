"""Rows in clear: categories, missing values, scaled numbers, and the published data sets."""

import numpy as np
import pandas as pd
import pytest

from hushpoll_lab.datasets.clear.registry import read_source
from hushpoll_lab.datasets.clear.rows import Scale, clear_rows
from hushpoll_protocols.errors import InvalidParameter

TABLE = pd.DataFrame(
    {
        "Age": [20.0, 30.0, 40.0, 50.0],
        "job": ["b", None, "a", "b"],
        "Sex": ["m", "f", "f", "x"],
        "pay": ["high", "low", "high", "low"],
    }
)
ROLES = {"target": ("pay", "high"), "protected": ("Sex", "f", "m")}
SCALES = {"Age": Scale(30.0, 10.0, (25.0, 45.0))}


def test_a_missing_category_is_one_of_its_own_or_drops_the_row():
    kept = clear_rows("four", TABLE, SCALES, **ROLES, missing="category")
    assert kept.categories["job"] == ("a", "b", "missing")
    assert kept.codes["job"].tolist() == [1, 2, 0, 1]
    dropped = clear_rows("four", TABLE, SCALES, **ROLES, missing="drop")
    assert dropped.rows == 3
    assert dropped.categories["job"] == ("a", "b")


def test_groups_come_first_and_numbers_become_features_and_intervals():
    rows = clear_rows("four", TABLE, SCALES, **ROLES, missing="category")
    assert rows.categories["sex"] == ("f", "m", "x")
    design = rows.design()
    assert design.names == ("age", "job=a", "job=b", "job=missing", "sex=f", "sex=m", "sex=x")
    assert design.names[design.protected] == ("sex=f", "sex=m", "sex=x")
    assert design.table.toarray()[1].tolist() == [0, 0, 0, 1, 1, 0, 0]
    assert design.table.toarray()[:, 0].tolist() == [-1, 0, 1, 2]
    assert design.label.tolist() == [1, 0, 1, 0]
    assert rows.survey_codes()["age"].tolist() == [0, 1, 1, 2]


def test_digest_tells_rows_apart():
    rows = clear_rows("four", TABLE, SCALES, **ROLES, missing="drop")
    other = clear_rows("four", TABLE.assign(Age=[20.0, 30.0, 40.0, 51.0]), SCALES, **ROLES,
                       missing="drop")  # fmt: skip
    assert rows.digest() == clear_rows("four", TABLE, SCALES, **ROLES, missing="drop").digest()
    assert rows.digest() != other.digest()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Sex": None}, "no row of four has a value in every column"),
        ({"pay": ...}, "the data of four has no column pay"),
    ],
)
def test_other_data_is_refused(change, message):
    [(column, value)] = change.items()
    table = TABLE.drop(columns=column) if value is ... else TABLE.assign(**change)
    with pytest.raises(InvalidParameter, match=message):
        clear_rows("four", table, SCALES, **ROLES, missing="drop")


def test_a_data_set_without_a_path_says_where_it_looks(monkeypatch, tmp_path):
    monkeypatch.delenv("HUSHPOLL_DATA", raising=False)
    with pytest.raises(InvalidParameter, match=r"data is missing: credit-card is read from"):
        read_source({"dataset": "credit-card"}).load()
    monkeypatch.setenv("HUSHPOLL_DATA", str(tmp_path))
    with pytest.raises(OSError, match=r"credit_card\.csv"):
        read_source({"dataset": "credit-card"}).load()
    (tmp_path / "abalone.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InvalidParameter, match="the data of abalone has no column Length"):
        read_source({"dataset": "abalone"}).load()


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "rows", "features", "positive"),
    [
        ("adult-published", 45_222, 102, 0.2478),
        ("credit-card", 30_000, 85, 0.2212),
        ("abalone", 1_418, 7, 0.6453),
    ],
)
def test_published_rows_have_the_papers_features(data_dir, name, rows, features, positive):
    found = read_source({"dataset": name, "data": data_dir}).load()
    assert found.rows == rows
    design = found.design()
    protected = design.protected.stop - design.protected.start
    assert (design.table.shape[1] - protected, protected) == (features, 2)
    assert np.mean(design.label) == pytest.approx(positive, abs=1e-4)
