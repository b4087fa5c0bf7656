"""``hushpoll records``: every statistic from a file, as text, JSON and tables."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from hushpoll_analysis import (
    answered_shares,
    change,
    conditional_shares,
    cross_table,
    dependencies,
    frequencies,
    independence,
    joint_table,
    ordered_change,
    ordered_summary,
    simultaneous_estimates,
    simultaneous_means,
)
from hushpoll_client.cli.commandline import main
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.wire.records_file import pack_records_header
from ordered_survey import ordered
from relations_survey import draw, survey

HOSTILE = ("=1+1", "@x", "שלום", "-5")


@pytest.fixture(scope="module")
def drawn():
    published = survey(("GRR", 3, "2"), ("OUE", 2, "1.5"), (None, 3, ""))
    joint = np.random.default_rng(3).dirichlet(np.full(18, 5.0)).reshape(3, 2, 3)
    return [draw(published, joint, 4_000, seed)[1] for seed in (1, 2)]


@pytest.fixture
def files(drawn, tmp_path):
    paths = [tmp_path / f"{number}.records" for number in range(2)]
    for path, records in zip(paths, drawn, strict=True):
        path.write_bytes(
            pack_records_header(records.published, len(records.rows)) + records.rows.tobytes()
        )
    return paths


@pytest.fixture
def call(capsys):
    def called(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return called


def on_a_terminal(folder, *arguments: object) -> str:
    """Return what a command writes to a standard error that is a terminal."""
    ours, theirs = os.openpty()
    program = "from hushpoll_client.cli.commandline import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "TERM": "xterm-256color"},
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        written = b""
        # on Linux the other end's closing is an error, elsewhere an empty read
        with contextlib.suppress(OSError):
            while piece := os.read(ours, 4096):
                written += piece
        os.close(ours)
        assert process.wait() == 0, written
    return written.decode()


def test_terminal_shows_what_a_command_does_and_a_file_does_not(files, tmp_path, call):
    rows = "\n".join(["gender,label,predicted", *["F,1,1", "M,0,1", "F,0,0", "M,1,0"] * 20])
    (tmp_path / "rows.csv").write_text(rows)
    said = on_a_terminal(tmp_path, "records", "estimate", files[0])
    assert "statistics of 0.records" in said
    asked = ("fairness", "predictions", "rows.csv", "--groups", "gender", "--resamples", 0)
    assert "fairness of rows.csv" in on_a_terminal(tmp_path, *asked)
    assert call("records", "estimate", files[0])[2] == ""


ASKED = {
    "estimate": ((), lambda one, _: frequencies(one)),
    "cross-table": (("a", "b"), lambda one, _: cross_table(one, "a", "b")),
    "shares": (
        ("--of", "a", "--given", "b", "--reference", "1", "--simultaneous"),
        lambda one, _: conditional_shares(one, "a", "b", reference="1", simultaneous=True),
    ),
    "independence": (("a", "c", "--alpha", "0.1"),
                     lambda one, _: independence(one, "a", "c", alpha=0.1)),
    "table": (("a", "b", "c"), lambda one, _: joint_table(one, ["a", "b", "c"])),
    "together": (("--attribute", "a"), lambda one, _: simultaneous_estimates(one, only=["a"])),
    "all": (("--rate", "0.2"), lambda one, _: dependencies(one, rate=0.2)),
    "ordered": (("a", "--scores", "0:2,2:4,9", "--threshold", "2", "--given", "b",
                 "--reference", "2", "--simultaneous"),
                lambda one, _: ordered_summary(one, "a", scores=[(0, 2), (2, 4), 9], threshold=2,
                                               given="b", reference="2", simultaneous=True)),
    "ordered-change": (("a", "--scores", "0:2,2:4,9", "--since-scores", "1,3,9"),
                       lambda one, two: ordered_change(two, one, "a", before_scores=[1, 3, 9],
                                                       scores=[(0, 2), (2, 4), 9])),
    "means": (("a", "b", "--given", "c", "--scores", "a=1,2,4", "--scores", "b=0:1,1:5"),
              lambda one, _: simultaneous_means(one, attributes=["a", "b"], given="c",
                                                scores={"a": [1, 2, 4], "b": [(0, 1), (1, 5)]})),
    "change": (("a", "--map", "3=2", "--since-map", "3=2"),
               lambda one, two: change(two, one, "a", mapping={"3": "2"},
                                       before_mapping={"3": "2"})),
}  # fmt: skip
SINCE = ("change", "ordered-change")


@pytest.mark.parametrize("command", ASKED)
def test_each_statistic_of_a_file(call, files, drawn, tmp_path, command):
    options, compute = ASKED[command]
    more = ("--since", files[1]) if command in SINCE else ()
    asked = ("records", command, files[0], *options, *more)
    result = compute(*drawn)
    out = tmp_path / "table.csv"
    code, said, err = call(*asked, "--json", "--out", out)
    assert code == 0, err
    document = json.loads(said)
    published = drawn[0].published
    assert (document["digest"], document["inputs"]) == (published.digest, {"records": "0.records"})
    expected = result.to_dict()
    assert {name: document[name] for name in expected} == json.loads(json.dumps(expected))
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    frame = result.to_pandas()
    assert [list(row) for row in rows[:1]] == [list(frame)]
    assert len(rows) == len(frame) > 0
    code, said, err = call(*asked, "--out", tmp_path / "table.xlsx")
    assert (code, err) == (0, "")
    assert f"The result is in {tmp_path / 'table.xlsx'}." in " ".join(said.split())
    assert (tmp_path / "table.xlsx").read_bytes().startswith(b"PK")


@pytest.mark.parametrize("command", [name for name in ASKED if name not in ("independence", "all")])
def test_confidence_of_each_interval(call, files, command):
    options, _ = ASKED[command]
    asked = ("records", command, files[0], *options)
    asked += ("--since", files[1]) if command in SINCE else ()
    code, said, err = call(*asked, "--confidence", "0.8", "--json")
    assert (code, json.loads(said)["confidence"]) == (0, 0.8), err
    for wrong in ("0", "1", "0.9999999", "95", "much"):
        code, said, err = call(*asked, "--confidence", wrong)
        assert (code, said) == (2, "")
        assert "--confidence" in err


def test_shape_of_the_reports_of_a_file(call, files):
    code, said, err = call("records", "estimate", files[0], "--check-shape")
    assert code == 0, err
    assert "Shape of the reports: like those of devices" in said


def test_table_of_hostile_categories(call, tmp_path):
    published = Manifest.from_dict(
        {
            "name": "hostile", "version": 1, "title": "Hostile", "epsilon": "2",
            "attributes": [
                {"name": "x", "role": "sensitive", "protocol": "GRR", "categories": list(HOSTILE)},
                {"name": "lower", "role": "plain", "range": [1, 2]},
            ],
        }
    ).resolve()  # fmt: skip
    rng = np.random.default_rng(1)
    rows = np.stack([rng.integers(0, 4, 50), rng.integers(0, 2, 50)], axis=1).astype(np.uint8)
    path, out = tmp_path / "hostile.records", tmp_path / "hostile.csv"
    path.write_bytes(pack_records_header(published, len(rows)) + rows.tobytes())
    code, _, err = call("records", "cross-table", path, "x", "lower", "--out", out)
    assert (code, err) == (0, "")
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["x"] for row in rows][::2] == ["'=1+1", "'@x", "שלום", "'-5"]
    # The question has the name of a column of each table.
    assert [row["b: lower"] for row in rows][:2] == ["1", "2"]


def test_file_for_a_table_is_checked_before_the_work(call, files, tmp_path):
    asked = ("records", "estimate", files[0])
    for name in ("table", "table.txt", "table.parquet"):
        code, said, err = call(*asked, "--out", tmp_path / name)
        assert (code, said) == (1, "")
        assert "give a file that ends in .csv or .xlsx" in err
    code, _, err = call(*asked, "--out", tmp_path / "none" / "table.csv")
    assert (code, "is no directory; make it first" in err) == (1, True)
    code, _, err = call(*asked, "--out", tmp_path)
    assert code == 2
    kept = tmp_path / "kept.csv"
    kept.write_text("mine")
    code, _, err = call("records", "cross-table", files[0], "a", "nothing", "--out", kept)
    assert (code, kept.read_text()) == (1, "mine")
    code, _, err = call("records", "cross-table", files[0], "a", "b", "--out", kept)
    assert (code, kept.read_text()[:17]) == (0, '"verdict","a","b"')
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "0.records", "1.records", "kept.csv"
    ]  # fmt: skip


def test_shares_of_those_who_answered_in_a_file(call, tmp_path):
    records = draw(ordered("GRR", 3, "3", missing=True), np.full(4, 0.25), 800, 3)[1]
    path, out = tmp_path / "skipped.records", tmp_path / "table.csv"
    path.write_bytes(
        pack_records_header(records.published, len(records.rows)) + records.rows.tobytes()
    )
    code, said, err = call("records", "answered", path, "--json", "--out", out)
    assert code == 0, err
    expected = answered_shares(records)
    assert (
        json.loads(said)["attributes"] == json.loads(json.dumps(expected.to_dict()))["attributes"]
    )
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["statistic"] for row in rows] == ["share who answered"] + 3 * ["share"]
    assert len(rows) == len(expected.to_pandas())
    code, said, _ = call("records", "answered", path, "--attribute", "a")
    assert (code, "a, of those who answered" in said) == (0, True)


@pytest.mark.parametrize(
    "command",
    [
        ("ordered", "a"),
        ("ordered-change", "a", "--since"),
        ("means", "a"),
        ("answered",),
        ("shares", "--of", "a", "--given", "b", "--reference", "1"),
    ],
)
def test_estimate_without_an_interval_says_why(call, files, tmp_path, command):
    records = draw(ordered("GRR", 2, "0.1", missing=True), np.array([0.1, 0.1, 0.8]), 30, 1)[1]
    if command[0] == "shares":
        records = draw(survey((None, 2, ""), ("GRR", 3, "0.1")), np.full((2, 3), 1 / 6), 30, 1)[1]
    path = tmp_path / "few.records"
    path.write_bytes(
        pack_records_header(records.published, len(records.rows)) + records.rows.tobytes()
    )
    more = (path,) if command[-1] == "--since" else ()
    code, said, err = call("records", command[0], path, *command[1:], *more)
    assert code == 0, err
    words = " ".join(said.split())
    assert "reports at epsilon 0.1 are too noisy to tell" in words
    assert "not shown; --json and --out have all numbers" in words
    if command[0] in ("shares", "ordered"):
        many = ("ordered", files[0], "a") if command[0] == "ordered" else (
            "shares", files[0], *command[1:]
        )  # fmt: skip
        code, said, _ = call("records", *many)
        assert (code, "too few reports" in said) == (0, False)


def test_mistakes_name_option_and_remedy(call, files):
    code, _, err = call("records", "change", files[0], "a", "--since", files[1], "--map", "3")
    assert (code, "--map is '3'; give CATEGORY=LABEL" in err) == (1, True)
    code, _, err = call("records", "shares", files[0], "--of", "a", "--given", "b",
                        "--reference", "9")  # fmt: skip
    assert (code, "no category of b" in err) == (1, True)
    code, _, err = call("records", "means", files[0], "--scores", "1,2,3")
    assert (code, "give NAME=SCORE,SCORE..." in err) == (1, True)
    code, _, err = call("records", "together", files[0], "--attribute", "nothing")
    assert (code, "nothing" in err) == (1, True)
