"""The journal: what survives, and what is refused."""

import json

import pytest

from hushpoll_lab.experiments.grid import Task
from hushpoll_lab.experiments.journal import open_journal
from hushpoll_protocols.errors import InvalidParameter

TASK = Task("GRR", "uniform", "4", 0)
OTHER = TASK._replace(seed=1)
FOUND = {"metrics": {"accuracy": 0.5}, "timings": {"fit": 1.0}}
DESCRIPTION = {"kind": "experiment", "configuration": {"seeds": [0], "params": {"max_depth": 3}}}


@pytest.fixture
def folder(tmp_path):
    with open_journal(tmp_path / "out", DESCRIPTION) as journal:
        journal.append(TASK, FOUND)
    return tmp_path / "out"


def test_what_was_written_is_there_again(folder):
    with open_journal(folder, DESCRIPTION) as journal:
        assert journal.cells == {TASK: FOUND}


def test_a_cell_is_on_the_disk_before_the_next(folder):
    with open_journal(folder, DESCRIPTION) as journal:
        journal.append(OTHER, {"error": "no memory"})
        lines = (folder / "cells.jsonl").read_text().splitlines()
        assert [json.loads(line)["seed"] for line in lines] == [0, 1]


def test_the_last_word_on_a_cell_counts(folder):
    with open_journal(folder, DESCRIPTION) as journal:
        journal.append(OTHER, {"error": "no memory"})
        journal.append(OTHER, FOUND)
    with open_journal(folder, DESCRIPTION) as journal:
        assert journal.cells == {TASK: FOUND, OTHER: FOUND}


def test_half_a_line_is_dropped_and_the_next_one_is_whole(folder):
    path = folder / "cells.jsonl"
    with path.open("ab") as stream:
        stream.write(b'{"protocol": "GRR", "spl')
    with open_journal(folder, DESCRIPTION) as journal:
        assert journal.cells == {TASK: FOUND}
        journal.append(OTHER, FOUND)
    assert len([json.loads(line) for line in path.read_text().splitlines()]) == 2


@pytest.mark.parametrize(
    "line", ["nonsense", "[]", '{"protocol": "GRR"}', json.dumps(OTHER._asdict())]
)
def test_a_damaged_line_is_named(folder, line):
    with (folder / "cells.jsonl").open("a") as stream:
        stream.write(f"{line}\n")
    with (
        pytest.raises(InvalidParameter, match=r"cells\.jsonl is damaged: line 2 is no cell"),
        open_journal(folder, DESCRIPTION),
    ):
        pass


def test_each_difference_to_another_experiment_is_shown(folder):
    changed = {
        "kind": "experiment",
        "configuration": {"seeds": [0, 1], "params": {"max_depth": 4}, "ignore": ["ST"]},
    }
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(InvalidParameter) as caught, open_journal(folder, changed):
        pass
    assert caught.value.field == "out"
    for part in (
        "configuration.seeds was [0] and is [0, 1]",
        "configuration.params.max_depth was 3 and is 4",
        'configuration.ignore was not set and is ["ST"]',
    ):
        assert part in str(caught.value)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with (
        pytest.raises(InvalidParameter, match=r"holds 'thesis\.tex' and no experiment"),
        open_journal(tmp_path, DESCRIPTION),
    ):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_damaged_description_is_named(folder):
    (folder / "experiment.json").write_text("[]")
    with (
        pytest.raises(InvalidParameter, match=r"experiment\.json is damaged: it holds no object"),
        open_journal(folder, DESCRIPTION),
    ):
        pass


def test_a_folder_in_use_is_refused(folder):
    with (
        open_journal(folder, DESCRIPTION),
        pytest.raises(InvalidParameter, match="is in use by another run"),
        open_journal(folder, DESCRIPTION),
    ):
        pass
