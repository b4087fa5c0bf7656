"""LSAC: the paper's cleaning, by hand and row for row on the public file."""

import pytest

from hushpoll_lab.datasets.lsac import RECIPE, clean
from hushpoll_protocols.errors import InvalidParameter

HEADER = "ID,lsat,ugpa,fulltime,fam_inc,gender,race1,pass_bar,tier\n"


@pytest.mark.data
def test_the_public_file_gives_the_papers_rows(data_dir):
    found = clean(data_dir / "bar_pass_prediction.csv")
    assert found.rows == RECIPE.rows
    assert found.is_the_papers
    assert found.csv() == (data_dir / "lsac.csv").read_bytes()


def test_the_cleaning_by_hand(tmp_path):
    path = tmp_path / "raw.csv"
    path.write_text(
        HEADER
        + "1,36.5,3.25,1,5,male,white,1,4\n"  # ties to even: 36 and 3.0
        + "2,37.5,3.75,2,1,female,black,0,4\n"  # 38 and 4.0
        + "3,40,2.3,1,2,female,hisp,1,\n"  # missing in a column that is not used
        + "4,12.4,2.2,1,3,female,asian,1,1\n"
    )
    found = clean(path)
    assert list(found.codes) == list(RECIPE.questions)
    assert found.categories["lsat"] == ("12", "36", "38")
    assert found.codes["lsat"].tolist() == [1, 2, 0]
    assert found.categories["ugpa"] == ("2.0", "3.0", "4.0")
    assert found.codes["ugpa"].tolist() == [1, 2, 0]
    assert found.codes["race1"].tolist() == [1, 0, 1]
    assert found.categories["race1"] == ("black", "other")
    assert found.codes["gender"].tolist() == [1, 0, 0]
    assert found.categories["fulltime"] == ("full time", "part time")
    assert found.codes["fam_inc"].tolist() == [2, 0, 1]
    assert found.categories["pass_bar"] == ("failed", "passed")
    assert not found.is_the_papers


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ID,lsat\n1,2\n", "has no column fam_inc; give bar_pass_prediction.csv"),
        (HEADER + "1,x,3,1,5,male,white,1,4\n", "column lsat of .* holds something else than"),
        (HEADER + "1,36,3,1,5,male,white,1,\n", "no row of .* has a value in every column"),
        ("", "is no CSV file"),
    ],
)
def test_what_is_not_the_file_is_named(tmp_path, text, message):
    path = tmp_path / "raw.csv"
    path.write_text(text)
    with pytest.raises(InvalidParameter, match=message) as caught:
        clean(path)
    assert caught.value.field == "from"
