"""``hushpoll fairness predictions``: text, JSON and a page, and what it refuses."""

import csv
import json
from html.parser import HTMLParser

import numpy as np
import pytest
from click.testing import CliRunner

from hushpoll_training.cli.fairness import predictions


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clear")
    rng = np.random.default_rng(5)
    rows = []
    for _ in range(900):
        race = str(rng.choice(["<b>Black</b>", "White", ""], p=[0.3, 0.68, 0.02]))
        gender = str(rng.choice(["F", "M"]))
        truth = rng.random() < 0.4
        guess = rng.random() < 0.2 + 0.4 * truth + 0.2 * (gender == "M")
        rows.append([gender, race, "hired" if truth else "no", "hired" if guess else "no"])
    for name, header in (
        ("good.csv", ["gender", "race", "label", "predicted"]),
        ("other.csv", ["gender", "race", "truth", "guess"]),
    ):
        with (folder / name).open("w", newline="") as stream:
            csv.writer(stream).writerows([header, *rows])
    (folder / "three.csv").write_text("g,label,predicted\na,1,0\nb,2,1\n")
    (folder / "empty.csv").write_text("g,label,predicted\na,1,\nb,0,1\n")
    return folder


@pytest.fixture
def run(files, monkeypatch):
    monkeypatch.chdir(files)
    return lambda *arguments: CliRunner().invoke(predictions, list(map(str, arguments)))


GOOD = ("good.csv", "--positive", "hired")


def test_the_text_has_every_group_and_says_what_is_too_small(run):
    found = run(*GOOD, "--groups", "gender", "--groups", "gender, race", "--resamples", 200)
    assert found.exit_code == 0, found.output
    text = " ".join(found.output.split())
    for words in (
        "Groups by gender: 900 rows, 0 in no group.",
        "Groups by gender and race: 900 rows",
        "(the largest group)",
        "race=(empty)",
        "not shown: gender=F, race=(empty) has",
        "demographic parity difference",
        "95 % interval",
        "are expected to miss. They hold for one look",
    ):
        assert words in text
    assert "nan" not in found.output
    tables = [line for line in found.output.splitlines() if line and line[0] in "┏┃┡│├└"]
    assert tables
    assert max(map(len, tables)) <= 80


def test_json_and_a_chosen_reference(run):
    options = ("--groups", "gender", "--reference", "gender=F", "--json", "--resamples", 200)
    found = run(*GOOD, *options, "--seed", 4, "--confidence", 0.9, "--smallest-group", 5)
    assert found.exit_code == 0, found.output
    document = json.loads(found.output)
    assert document["inputs"] == {"predictions": "good.csv"}
    (report,) = document["reports"]
    assert (report["reference"], report["reference_is"]) == ("gender=F", "as given")
    assert (report["confidence"], report["smallest_group"]) == (0.9, 5)
    assert report["bootstrap"] == {"resamples": 200, "seed": 4, "kind": "BCa by group"}
    # two groups of five rates, and seven metrics
    assert "of these 17 at 90 %, 1.7 are expected to miss" in report["intervals"]
    spd = report["comparisons"][0]["metrics"]["SPD"]
    assert spd["closed_form"]["upper"] < 0
    named = ("--label", "truth", "--predicted", "guess")
    other = run("other.csv", *GOOD[1:], *named, *options)
    value = json.loads(other.output)["reports"][0]["comparisons"][0]["metrics"]["SPD"]["value"]
    assert value == spd["value"]


class Page(HTMLParser):
    """Collects what a page would fetch or run, its tags and its text."""

    def __init__(self, text):
        super().__init__()
        self.fetched, self.tags, self.text = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.fetched += [value for name, value in attributes if name in ("src", "href", "srcset")]

    def handle_data(self, data):
        self.text += data


def test_the_page_stands_alone_and_shows_names_as_text(run, files):
    options = ("--groups", "race", "--out", "report.html", "--resamples", 200)
    found = run(*GOOD, *options)
    assert found.exit_code == 0, found.output
    assert "The report is in report.html." in found.output
    text = (files / "report.html").read_text()
    page = Page(text)
    assert page.fetched == []
    assert "script" not in page.tags
    assert "b" not in page.tags
    assert "race=<b>Black</b>" in page.text
    assert "url(" not in text
    assert "@import" not in text
    assert "default-src 'none'" in text
    assert page.tags.count("h1") == 1
    assert page.tags.count("caption") == page.tags.count("table") >= 5
    assert "too few rows to be measured" in page.text
    assert "are expected to miss" in page.text


def test_reports_are_tables_where_the_ending_says_so(run, files):
    options = ("--groups", "gender", "--groups", "race", "--resamples", 0)
    for name in ("report.csv", "report.json", "report.xlsx"):
        found = run(*GOOD, *options, "--out", name, "--json")
        assert found.exit_code == 0, found.output
    document = json.loads(found.output)
    assert json.loads((files / "report.json").read_text()) == document
    assert (files / "report.xlsx").read_bytes().startswith(b"PK")
    with (files / "report.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    by_gender, by_race = document["reports"]
    metric = by_gender["comparisons"][0]["metrics"]["SPD"]
    (row,) = [one for one in rows if (one["groups_by"], one["name"]) == ("gender", "SPD")]
    assert [float(row[name]) for name in ("value", "standard_error", "lower", "upper")] == [
        metric["value"],
        metric["standard_error"],
        metric["closed_form"]["lower"],
        metric["closed_form"]["upper"],
    ]
    assert (row["statistic"], row["group"], row["reference"]) == (
        "metric",
        by_gender["comparisons"][0]["group"],
        by_gender["reference"],
    )
    # two groups of five rates and seven metrics; three of each, and spreads of those by race
    assert len([one for one in rows if one["groups_by"] == "gender"]) == 2 * 5 + 7
    assert len(rows) == 17 + 3 * 5 + 2 * 7 + len(by_race["spreads"])
    assert "must be .html, .csv, .xlsx or .json" in str(
        run(*GOOD, *options, "--out", "report.txt").exception
    )
    withheld = [one for one in rows if one["withheld"]]
    assert withheld
    assert not any(one["value"] for one in withheld)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("", 2, "Missing argument 'FILE'"),
        ("good.csv", 2, "Missing option '--groups'"),
        ("good.csv --groups race --folds 3", 2, "No such option"),
        ("none.csv --groups race", 2, "does not exist"),
        (
            "good.csv --groups race --groups gender --reference race=White",
            2,
            "--reference goes with one",
        ),
        ("good.csv --groups race", 1, "there must be '1', the positive one"),
        ("three.csv --groups g", 1, "'0', '1', '2'"),
        ("empty.csv --groups g", 1, "row 1 (line 2), column predicted: the cell is"),
        ("good.csv --groups age", 1, "has no column 'age'; its columns are gender"),
        (
            "good.csv --groups race --positive hired --reference race=Red",
            1,
            "reference is 'race=Red', which is no group",
        ),
        ("good.csv --groups race --positive hired --resamples 5", 1, "at least 100"),
    ],
)
def test_mistakes_are_named(run, arguments, code, words):
    found = run(*arguments.split())
    assert found.exit_code == code, found.output
    assert words in found.output
    assert "Traceback" not in found.output
