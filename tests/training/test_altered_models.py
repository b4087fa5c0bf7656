"""Altered models end ``hushpoll predict`` with an error or with predictions, never with a crash."""

import csv
import hashlib
import json
import random
import shutil
import subprocess
import sys

import lightgbm
import numpy as np
import pytest

from hushpoll_analysis import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.learners.design import Design
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.learners.lightgbm import LightGBM, safe_names
from hushpoll_training.learners.lightgbm_text import UnsoundText, check_text
from hushpoll_training.learners.lightgbm_trial import TrialFailed, try_text
from hushpoll_training.models.model import fit_records
from hushpoll_training.models.recipe import Recipe
from hushpoll_training.runs.saved import load_model, save_model

ROWS = 40
HUGE = ("2147483647", "-2147483648", "99999999999999999999", "1e999", "nan", "-7", "1e308", "")

# Reads directories on standard input and predicts with each; prints how each of them ended.
DRIVER = """
import json, sys
from pathlib import Path
from click.testing import CliRunner
from hushpoll_training.cli.train import predict
for line in sys.stdin:
    out = Path(line.strip()) / "scores.csv"
    options = ["--model", line.strip(), "--data", sys.argv[1], "--out", str(out)]
    done = CliRunner().invoke(predict, options)
    clean = done.exception is None or isinstance(done.exception, SystemExit)
    print(json.dumps([done.exit_code, clean, done.stderr]), flush=True)
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory, survey, people, perturbed, write_rows):
    folder = tmp_path_factory.mktemp("altered")
    published = survey(epsilon="4", protocol="OUE")
    records = perturbed(published, people(3000))
    model = fit_records(
        Records(published, records), Recipe.of({"n_estimators": 8, "num_leaves": 7}), FitOptions(1)
    )
    save_model(model, folder / "model", {"kind": "training run"})
    write_rows(folder / "rows.csv", published, people(ROWS, seed=6), without=("income",))
    return folder


def replaced_number(text, rng):
    """Return the text with one number of one list replaced, most of them in the trees."""
    lines = text.split("\n")
    trees = [place for place, line in enumerate(lines) if "=" in line and "names" not in line]
    place = rng.choice(trees)
    name, _, value = lines[place].partition("=")
    numbers = value.split(" ")
    at = rng.randrange(len(numbers))
    numbers[at] = rng.choice([*HUGE, numbers[at][:-1], numbers[at] + "9", "0", "-1", "1", "3"])
    return "\n".join([*lines[:place], f"{name}={' '.join(numbers)}", *lines[place + 1 :]])


def flipped_bit(text, rng):
    content = bytearray(text.encode())
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return content.decode("latin-1")


def cut_line(text, rng):
    lines = text.split("\n")
    place = rng.randrange(len(lines))
    return "\n".join([*lines[:place], *lines[place + 1 :]])


def doubled_line(text, rng):
    lines = text.split("\n")
    place = rng.randrange(len(lines))
    return "\n".join([*lines[:place], lines[place], *lines[place:]])


def cut_end(text, rng):
    return text[: rng.randrange(len(text))]


def swapped_children(text, rng):
    lines = text.split("\n")
    place = rng.choice([at for at, line in enumerate(lines) if "_child=" in line])
    name, _, value = lines[place].partition("=")
    numbers = value.split(" ")
    numbers[rng.randrange(len(numbers))] = rng.choice(numbers)
    return "\n".join([*lines[:place], f"{name}={' '.join(numbers)}", *lines[place + 1 :]])


WAYS = (replaced_number, flipped_bit, swapped_children, cut_line, doubled_line, cut_end)


def check(saved, tmp_path, rounds):
    """Predict with altered models, the checksum beside them made anew, in one process."""
    text = (saved / "model" / "model.txt").read_text()
    rng = random.Random(rounds)
    folders, ways = [], []
    for number in range(rounds):
        way = WAYS[(0, 0, 0, 1, 1, 2, 2, 3, 4, 5)[number % 10]]
        folder = tmp_path / str(number)
        shutil.copytree(saved / "model", folder)
        write_trees(folder, way(text, rng))
        folders.append(folder)
        ways.append(way.__name__)
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(saved / "rows.csv")],
        input="\n".join(map(str, folders)),
        capture_output=True,
        text=True,
        check=False,
    )
    ends = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, (done.returncode, ways[len(ends)], folders[len(ends)])
    assert len(ends) == rounds
    for folder, way, (code, clean, error) in zip(folders, ways, ends, strict=True):
        assert clean, (way, error)
        if code:
            assert "model.txt" in error, (way, error)
            assert "train the model again" in error, (way, error)
            assert error.count("\n") == 1
        else:
            with (folder / "scores.csv").open(newline="") as stream:
                scores = [float(row["score"]) for row in csv.DictReader(stream)]
            assert len(scores) == ROWS
            assert all(0 <= score <= 1 for score in scores), way
    return [code for code, _, _ in ends]


def write_trees(folder, text):
    trees = text.encode("latin-1")
    (folder / "model.txt").write_bytes(trees)
    meaning = json.loads((folder / "model.json").read_text())
    meaning["files"]["model.txt"] = hashlib.sha256(trees).hexdigest()
    (folder / "model.json").write_text(json.dumps(meaning))


def test_20_altered_models_are_refused_or_predict(saved, tmp_path):
    """Two rounds of the ten ways; each model has a process of its own, in which it is tried."""
    codes = check(saved, tmp_path, 20)
    assert 0 < codes.count(0) < 13


@pytest.mark.slow
def test_3000_altered_models_are_refused_or_predict(saved, tmp_path):
    check(saved, tmp_path, 3000)


def lines_changed(text, **changes):
    """Return the text with the values of the first lines of these names changed."""
    for name, value in changes.items():
        start = text.index(f"\n{name}=") + 1
        end = text.index("\n", start)
        text = f"{text[:start]}{name}={value}{text[end:]}"
    return text


def sized(text):
    """Return the text with its trees' sizes as they are now."""
    trees = text[text.index("Tree=0") : text.index("end of trees")].split("Tree=")[1:]
    return lines_changed(text, tree_sizes=" ".join(str(len(f"Tree={one}")) for one in trees))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("left_child", "0 1 2 3 4 5", "children that do not make one tree"),
        ("left_child", "1 0 -1 -2 -3 -4", "children that do not make one tree"),
        ("left_child", "99999 2 3 4 5 -1", "children that do not make one tree"),
        ("right_child", "-99999 -2 -3 -4 -5 -6", "children that do not make one tree"),
        ("split_feature", "12 1 2 3 4 5", r"a column outside \[0, 11\]"),
        ("split_feature", "-1 1 2 3 4 5", r"a column outside \[0, 11\]"),
        ("split_feature", "1e3 1 2 3 4 5", "no whole number"),
        ("decision_type", "3 2 2 2 2 2", "a decision that is not on a number"),
        ("threshold", "nan 1 1 1 1 1", "no number"),
        ("threshold", "1 1 1 1 1", "5 values, not 6"),
        ("leaf_value", "1e+101 1 1 1 1 1 1", "beyond 1e"),
        ("leaf_value", "1e+999 1 1 1 1 1 1", "too large"),
        ("leaf_count", "99999999999 1 1 1 1 1 1", "beyond 31 bits"),
        ("num_leaves", "1000000", r"outside \[1, 131072\]"),
        ("num_leaves", "8", "6 values, not 7"),
        ("num_cat", "1", "is not 'num_cat=0'"),
        ("is_linear", "1", "is not 'is_linear=0'"),
        ("num_class", "2", "is not 'num_class=1'"),
        ("objective", "lambdarank", "is not 'objective"),
        ("feature_infos", "none", "one range per column"),
        ("tree_sizes", "9", "characters, not 9"),
    ],
)
def test_a_structure_that_hushpoll_does_not_write_is_refused(saved, name, value, words):
    text = (saved / "model" / "model.txt").read_text()
    columns = safe_names(load_model(saved / "model").features.names)
    assert f"\n{name}=" in text
    altered = lines_changed(text, **{name: value})
    with pytest.raises(UnsoundText, match=words):
        check_text(altered if name == "tree_sizes" else sized(altered), columns)


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_estimators": 3},
        {"n_estimators": 3, "min_child_samples": 1000},
        {"n_estimators": 40, "num_leaves": 300, "min_child_samples": 1, "max_depth": 12},
        {"n_estimators": 5, "learning_rate": 1.0, "scale_pos_weight": 1e9},
        {"n_estimators": 5, "subsample": 0.5, "subsample_freq": 1, "colsample_bytree": 0.5},
        {"n_estimators": 5, "reg_alpha": 3.0, "reg_lambda": 1e5, "max_bin": 65_535},
    ],
)
def test_every_model_that_the_learner_makes_is_sound(parameters):
    rng = np.random.default_rng(4)
    rows = rng.random((900, 3))
    rows[:, 2] = 1.0
    label = (rows[:, 0] + 0.3 * rng.random(900) > 0.6).astype(np.int64)
    names = ("a", "b", "c")
    trees = LightGBM(parameters).fit(Design(rows, label, names), FitOptions(2))
    check_text(trees.save()["model.txt"].decode(), safe_names(names))


def test_a_trial_that_dies_is_an_error_that_names_the_signal(saved, monkeypatch):
    """The text would pass by a gap in the check: a child far outside ends LightGBM's process."""
    text = (saved / "model" / "model.txt").read_text()
    try_text(text)
    children = text[text.index("\nleft_child=") + 12 :].split("\n", 1)[0].split(" ")
    children[0] = "99999999"
    with pytest.raises(TrialFailed, match=r"ends the process that reads it \(SIG"):
        try_text(sized(lines_changed(text, left_child=" ".join(children))))
    with pytest.raises(TrialFailed, match="is not taken by LightGBM"):
        try_text("tree\n")
    assert lightgbm.Booster(model_str=text).num_trees() == 8
    monkeypatch.setattr(
        "hushpoll_training.learners.lightgbm.try_text",
        lambda text: (_ for _ in ()).throw(TrialFailed("ends the process that reads it (SIGSEGV)")),
    )
    with pytest.raises(InvalidParameter, match=r"model\.txt ends the process.*train the model"):
        load_model(saved / "model", trial=True)
