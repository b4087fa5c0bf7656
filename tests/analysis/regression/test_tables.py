"""Tables that people bring: read strictly, with the laws of their randomised columns."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from hushpoll_analysis.cli.regress import data
from hushpoll_analysis.regression.answers import Categories, Numbers
from hushpoll_analysis.regression.tables import read_answers, read_law
from hushpoll_protocols.errors import InvalidParameter

LAW = "recorded,no,yes\nred,0.8,0.3\ngreen,0.2,0.7\n"


@pytest.fixture
def files(tmp_path):
    law, table = tmp_path / "law.csv", tmp_path / "people.csv"
    law.write_text(LAW)
    rows = [
        f"{'red' if (7 * i) % 5 < 3 else 'green'},{20 + i % 40},{'north' if i % 3 else 'south'}"
        for i in range(300)
    ]
    table.write_text("\n".join(["card,age,region", *rows, "red,,north", ""]))
    return table, law


def test_columns_are_read_by_what_they_hold(files):
    table, law = files
    answers = read_answers(table, {"card": law}, "card ~ age + region")
    assert (answers.n, answers.dropped) == (300, 1)
    assert isinstance(answers.clear["age"], Numbers)
    assert isinstance(answers.clear["region"], Categories)
    assert answers.clear["region"].domain == ("north", "south")
    assert answers.units[0].questions[0].domain == ("no", "yes")


def test_command_says_and_prints_the_fit(files):
    table, law = files
    words = [str(table), "--law", f"card={law}", "--formula", "card ~ age + region"]
    shown = CliRunner().invoke(data, words)
    assert shown.exit_code == 0, shown.output
    assert "1 were left out" in shown.output
    out = table.with_name("out.csv")
    words += ["--out", str(out)]
    found = CliRunner().invoke(data, [*words, "--json", "--at", "region=south"])
    assert found.exit_code == 0, found.output
    assert out.read_text().startswith('"name","term","category","estimate"')
    document = json.loads(found.stdout)
    assert [one["name"] for one in document["coefficients"]] == [
        "Intercept",
        "age",
        "region[T.south]",
    ]
    assert 0 <= document["predicted"][0]["estimate"] <= 1


@pytest.mark.parametrize(
    ("cell", "wanted"),
    [
        ("blue,30,north", "row 302 .*column card: 'blue' is no recorded value"),
        ("red,NA,north", "row 302 .*column age: 'NA' is no number"),
        ("red,3,0,north", "row 302 .*4 values"),
    ],
)
def test_cell_that_does_not_fit_is_refused_by_row_and_column(files, cell, wanted):
    table, law = files
    table.write_text(table.read_text() + cell + "\n")
    with pytest.raises(InvalidParameter, match=wanted):
        read_answers(table, {"card": law}, "card ~ age + region")


def test_numbers_of_a_law_are_the_same_in_another_spelling(tmp_path):
    law, table = tmp_path / "law.csv", tmp_path / "people.csv"
    law.write_text("recorded,0,1\n0,0.8,0.3\n1,0.2,0.7\n")
    table.write_text("card,x\n1.0,3\n0.0,4\n1.0,5\n")
    assert read_answers(table, {"card": law}, "card ~ x").units[0].places.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("recorded,no,yes\na,0.8,0.3\nb,0.3,0.7\n", "column 'no' sums to 1.1"),
        ("recorded,no,yes\na,0.8,1.3\nb,0.2,-0.3\n", "1.3 is no chance"),
        ("recorded,no\na,1\n", "has 2 columns"),
        ("recorded,no,yes\na,0.5,0.5\na,0.5,0.5\n", "'a' stands twice"),
        ("recorded,no,yes\na,0.7,0.3\nb,0.2,0.8\n", "its rows do, so exchange rows and columns"),
        ("recorded,no,yes\n,0.7,0.3\nb,0.3,0.7\n", "row 1 .*there is no recorded value"),
        ("recorded,no,yes\na,0.7,\nb,0.3,0.7\n", "row 1 .*column yes: there is no chance"),
        ("recorded,no,yes\na,70%,30%\nb,30%,70%\n", "'70%' is no chance"),
        ("recorded,no,yes\na,q,0.3\nb,0.5,0.7\n", "'q' is no number, and a chance that is unknown"),
        ("recorded,no,yes\na,?,0.3\nb,?,0.7\n", "a chance that is unknown is not estimated"),
        ("recorded,no,yes\na,nan,0.3\nb,0.3,0.7\n", "'nan' is no chance"),
        ("recorded;no;yes\na;0,7;0,3\nb;0,3;0,7\n", "has semicolons between its cells"),
        ('recorded,no,yes\na,"0,7","0,3"\nb,"0,3","0,7"\n', "'0,7' has a comma"),
        ("recorded,no,no\na,0.7,0.3\nb,0.3,0.7\n", "has the column 'no' twice"),
        ("recorded,no, no\na,0.7,0.3\nb,0.3,0.7\n", "has a true value twice"),
        ("recorded,no,yes\na,7/6,0.3\nb,0.3,0.7\n", "1.16667 is no chance in"),
        ("recorded,no,yes\na,1,1\n", "does not tell the true ones apart"),
        ("", "is empty"),
    ],
)
def test_malformed_law_is_refused(tmp_path, text, wanted):
    path = tmp_path / "law.csv"
    path.write_text(text)
    with pytest.raises(InvalidParameter, match=wanted):
        read_law(path)


def test_law_with_the_mark_that_spreadsheets_write_first_is_read(tmp_path):
    path = tmp_path / "law.csv"
    path.write_bytes(b"\xef\xbb\xbfrecorded,no,yes\r\nno,0.8333,0.1667\r\nyes,0.1667,0.8333\r\n")
    assert read_law(path).recorded == ("no", "yes")


def test_chances_of_dice_and_values_with_spaces_around_them(tmp_path):
    law, table = tmp_path / "law.csv", tmp_path / "people.csv"
    law.write_text("recorded, no ,yes\nno ,5/6,1 / 6\n yes,1/6,5/6\n")
    table.write_text("Did you?,age in years,place\nyes ,3,north\nno,4, north\nyes,5,south \n")
    formula = "`Did you?` ~ `age in years` + place"
    found = read_answers(table, {"Did you?": law}, formula)
    assert found.units[0].places.tolist() == [1, 0, 1]
    rows = found.units[0].patterns.likelihood(np.array([0, 1]))
    assert rows.tolist() == [[5 / 6, 1 / 6], [1 / 6, 5 / 6]]
    assert found.clear["place"].domain == ("north", "south")


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        (
            [f"{one},5" for one in range(300)],
            "'0,5' is no number, .*300 different values; a number",
        ),
        (["south"] * 300, "'south' is the value of all rows that are read, .*leave the column out"),
        (["7"] * 299 + ["7.0"], "'7' is the value of all rows"),
    ],
)
def test_column_that_no_slope_can_be_of_is_refused(files, column, wanted):
    table, law = files
    rows = [f'{"red" if i % 3 else "green"},"{cell}"' for i, cell in enumerate(column)]
    table.write_text("\n".join(["card,x", *rows]))
    with pytest.raises(InvalidParameter, match=wanted):
        read_answers(table, {"card": law}, "card ~ x")
    if len(set(column)) == 300:
        assert read_answers(table, {"card": law}, "card ~ C(x)").n == 300


def test_column_that_a_formula_misspells_is_named_before_a_law_without_one(files):
    table, law = files
    with pytest.raises(InvalidParameter, match=r"no column 'crad'.* did you mean 'card'"):
        read_answers(table, {"card": law}, "crad ~ age")


def test_law_of_a_column_that_the_formula_does_not_name_is_refused(files):
    table, law = files
    with pytest.raises(InvalidParameter, match="a law of 'card', which the formula does not name"):
        read_answers(table, {"card": law}, "region ~ age")


BY = "region,recorded,no,yes\nnorth,red,0.8,0.3\nnorth,green,0.2,0.7\nsouth,red,0.3,0.8\n"


@pytest.mark.parametrize(
    ("text", "by", "wanted"),
    [
        (BY + "south,green,0.7,0.2\n", "age", "first column of .* is 'region', and .*on 'age'"),
        (BY, "region", "column 'no' of the group 'south' sums to 0.3"),
        (BY + ",green,0.7,0.2\n", "region", "row 4 .*column region: there is no group"),
        (BY + "south,red,0.7,0.2\n", "region", "'red' stands twice in the group 'south'"),
        ("region,recorded,no\nnorth,red,1\n", "region", "recorded values in its second column"),
        (BY.replace("south,red,0.3,0.8\n", ""), "region", "'south' has no law.*are north"),
        (
            BY.replace("south,red,0.3,0.8", "south,red,1,1"),
            "region",
            "'green' is no rec.*south",
        ),
        (
            "region,recorded,no,yes\nnorth,a,0.5,0.5\nnorth,b,0.5,0.5\nsouth,a,1,1\n",
            "region",
            "does not tell the true ones apart",
        ),
    ],
)
def test_malformed_law_of_groups_is_refused(files, text, by, wanted):
    table, law = files
    law.write_text(text)
    with pytest.raises(InvalidParameter, match=wanted):
        read_answers(table, {"card": law}, "card ~ age", by={"card": by})


def test_law_that_hangs_on_a_column_is_there(files):
    table, law = files
    with pytest.raises(InvalidParameter, match=r"there is no law of it; did you mean .card.?"):
        read_answers(table, {"card": law}, "card ~ age", by={"crd2": "region"})


def test_command_takes_laws_of_groups_and_what_stands_for_missing(files):
    table, law = files
    law.write_text(BY + "south,green,0.7,0.2\n")
    table.write_text(table.read_text() + "NA,30,north\nred,30,NA\n")
    words = [str(table), "--law", f"card={law}", "--formula", "card ~ age + region"]
    refused = CliRunner().invoke(data, [*words, "--law-by", "card=region"])
    assert "'NA' is no recorded value of its law in the group 'north'" in refused.output
    words += ["--missing", "NA", "--law-by", "card=region"]
    shown = CliRunner().invoke(data, words)
    assert shown.exit_code == 0, shown.output
    assert "3 were left out" in shown.output
    twice = CliRunner().invoke(data, [*words, "--law", f"card={law}"])
    assert "'card' twice" in twice.output


def test_missing_value_of_another_program_is_no_category(files):
    table, law = files
    table.write_text(table.read_text() + "red,30,NA\n")
    with pytest.raises(InvalidParameter, match=r"'NA' may be a missing value; .*write C\(region\)"):
        read_answers(table, {"card": law}, "card ~ region")
    with pytest.raises(InvalidParameter, match="'NA' may be a missing value"):
        read_answers(table, {"card": law}, "card ~ age", cluster="region")
    kept = read_answers(table, {"card": law}, "card ~ C(region)")
    assert kept.clear["region"].domain == ("NA", "north", "south")
    assert read_answers(table, {"card": law}, "card ~ region", missing=["NA"]).dropped == 1


@pytest.mark.parametrize(
    ("table", "law", "more", "field", "words"),
    [
        ("card,age\nred,1e400\ngreen,2\n", LAW, (), "data", "'1e400' is no number"),
        ("card,age\nred,1e308\ngreen,-1e308\n", LAW, (), "formula", "above 1e+30"),
        (None, LAW.replace("0.8", "5/0"), (), "law", "'5/0' is no chance"),
        (None, LAW.replace("0.8", "83%"), (), "law", "'83%' is no chance"),
        (None, LAW.replace("0.8", "inf"), (), "law", "'inf' is no chance"),
        (None, LAW.replace("0.8", ""), (), "law", "there is no chance"),
        (None, LAW, ("--weight-column", "heavy"), "weight_column", "weight-column names columns"),
        (None, LAW, ("--cluster-column", "c"), "cluster_column", "cluster-column names columns"),
        (None, LAW, ("--cluster-column", "one"), "cluster_column", "all rows are of one cluster"),
        (None, LAW, ("--at", "age=1", "--at", "age=2"), "at", "twice"),
        (None, LAW, ("--out", "people.csv"), "out", "which is read"),
        (None, LAW, ("--formula", "one ~ age"), "law", "which the formula does not name"),
        (None, LAW, ("--formula", "card ~"), "formula", "nothing stands right"),
    ],
)
def test_command_names_field_value_and_remedy(
    tmp_path, monkeypatch, table, law, more, field, words
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "law.csv").write_text(law)
    table = table or "card,age,one\nred,1,7\ngreen,2,7\nred,3,7\n"
    (tmp_path / "people.csv").write_text(table)
    asked = ["people.csv", "--law", "card=law.csv", "--formula", "card ~ age", "--json", *more]
    answer = CliRunner().invoke(data, asked)
    assert answer.exit_code == 1, answer.output
    assert isinstance(answer.exception, SystemExit)
    error = json.loads(answer.output)["error"]
    assert error["field"] == field
    assert words in error["message"]
    assert (tmp_path / "people.csv").read_text() == table
