"""``hushpoll manifest check``: all faults of a file, each with its line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hushpoll_shared.cli.manifest_commands import check
from hushpoll_shared.drafts.manifest_lines import lines_of

FAULTY = """\
name: habits
version: 0
title: Habits
epsilon: "1"
colour: red
protocol: GRR
attributes:
  - name: gender
    role: sensitive
    categories: [a, 12]
  - {name: age, role: sensitive,
     range: [5, 1]}
  - name: smoker
    role: clear
    categories:
      - "no"
      - "no"
  - role: sensitive
    categories: [x, y]
"""


def checked(tmp_path: Path, text: str, *options: str, name: str = "survey.yaml") -> Result:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return CliRunner().invoke(check, [str(path), *options])


def test_every_fault_is_told_with_its_line_in_the_order_of_the_file(tmp_path):
    done = checked(tmp_path, FAULTY)
    assert done.exit_code == 1
    first, *told = done.output.splitlines()
    assert first == "survey.yaml cannot be published, for it has 7 faults:"
    assert [line.partition("; ")[0] for line in told[:6]] == [
        "survey.yaml:2: version is 0",
        "survey.yaml:5: the manifest has the unknown key 'colour'",
        "survey.yaml:10: attributes[gender].categories[1] is 12 (int)",
        "survey.yaml:12: attributes[age].range is [5, 1]",
        "survey.yaml:14: attributes[smoker].role is 'clear'",
        "survey.yaml:15: attributes[smoker] has the category 'no' twice",
    ]
    assert told[6] == "survey.yaml:18: attributes[3] has no name; add it"


def test_every_fault_is_in_the_list_of_the_json_document(tmp_path):
    done = checked(tmp_path, FAULTY, "--json")
    document = json.loads(done.output)
    assert (done.exit_code, document["valid"]) == (1, False)
    assert document["problems"][0] == {
        "field": "version",
        "value": "0",
        "message": "version is 0; it must be an integer in [1, 2147483647]",
        "remedy": "It must be an integer in [1, 2147483647].",
        "position": None,
        "line": 2,
    }
    lines = [problem["line"] for problem in document["problems"]]
    assert lines == [2, 5, 10, 12, 14, 15, 18]


@pytest.mark.parametrize(
    ("name", "text", "line", "words"),
    [
        ("survey.json", '{"name": 1,\n "x": }', 2, "not JSON"),
        ("survey.yaml", "name: x\nname: y", 2, "the key 'name' appears twice"),
        ("survey.yaml", "- a", None, "must be a mapping"),
        ("survey.yaml", "", None, "is empty"),
    ],
)
def test_a_file_that_cannot_be_read_has_one_fault(tmp_path, name, text, line, words):
    done = checked(tmp_path, text, "--json", name=name)
    (problem,) = json.loads(done.output)["problems"]
    assert (done.exit_code, problem["line"]) == (1, line)
    assert words in problem["message"]


def test_a_file_of_another_kind_is_refused_as_such(tmp_path):
    done = checked(tmp_path, "name: x", name="survey.txt")
    assert (done.exit_code, done.output.count("\n")) == (1, 1)
    assert done.output.startswith("Error: the manifest file ")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (b'{"a": 1,\n "b": [2,\n 3]}', {("a",): 1, ("b",): 2, ("b", 0): 2, ("b", 1): 3}),
        (b'{\n\t"a": 1}', {}),
        (b"a: &x [1]\nb: *x", {("a",): 1, ("a", 0): 1}),
        (b"a: &x\n - *x", {("a",): 1}),
        (b"[" * 20_000, {}),
        (b"a: \xff", {}),
    ],
)
def test_lines_are_known_by_the_path_of_the_field(text, lines):
    assert lines_of(text) == lines


def test_question_with_more_answers_than_respondents_can_tell_is_warned_of(tmp_path):
    text = FAULTY.partition("colour")[0].replace("version: 0", "version: 1") + (
        "protocol: OLH\nattributes:\n  - {name: income, role: sensitive, range: [0, 10000]}\n"
    )
    done = checked(tmp_path, text)
    assert done.exit_code == 0
    (warning,) = [line for line in done.output.splitlines() if line.startswith("warning: ")]
    assert warning.startswith("warning: with 10,000 reports and epsilon 1, income cannot tell")
    told = json.loads(checked(tmp_path, text, "--json", "--respondents", "500").output)
    (entry,) = told["warnings"]
    assert entry["attribute"] == "income"
    assert entry["message"].startswith("with 500 reports")
    assert checked(tmp_path, text, "--respondents", "1000000").output.count("warning") == 0
