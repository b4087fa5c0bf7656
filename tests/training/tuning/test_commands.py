"""``hushpoll tune``: a file of parameters that train and experiments take."""

import json

import pytest
from click.testing import CliRunner

from hushpoll_shared.cli.named_values import named_values
from hushpoll_training.cli import tune as commands
from hushpoll_training.cli.train import train
from hushpoll_training.learners.learner import Span
from hushpoll_training.learners.lightgbm import LightGBM


def call(command, *arguments):
    found = CliRunner().invoke(command, [str(one) for one in arguments])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.stdout, found.stderr


@pytest.fixture
def small(monkeypatch):
    """Few trees, so that a search takes no time."""
    quick = {"n_estimators": Span(2, 6, 2), "max_depth": Span(2, 4, 1)}
    search = commands.tune
    monkeypatch.setattr(
        commands, "tune", lambda *given, **options: search(*given, **options, space=quick)
    )


@pytest.fixture
def files(tmp_path, draft, survey, people, write_rows):
    manifest = tmp_path / "small.json"
    manifest.write_text(json.dumps(draft(epsilon="4")))
    return write_rows(tmp_path / "rows.csv", survey(), people(300)), manifest


def test_the_file_is_taken_by_train(small, files, tmp_path):
    data, manifest = files
    out = tmp_path / "new" / "tuned"
    options = ("--data", data, "--manifest", manifest, "--folds", 2, "--out", out)
    code, text, _ = call(commands.tune_command, *options, "--trials", 3, "--json")
    assert code == 0
    found = json.loads(text)
    assert (found["trials"], found["resumed"]) == (3, 0)
    assert set(found["params"]) == {"n_estimators", "max_depth"}
    assert json.loads((out / "params.json").read_text()) == found["params"]
    assert (
        LightGBM(named_values([str(out / "params.json")])).parameters.items()
        >= found["params"].items()
    )
    assert 0.5 < found["score"]["accuracy"] < 1
    code, text, _ = call(commands.tune_command, *options, "--trials", 5)
    assert code == 0
    assert "the best of 5 trials" in text
    trained = ("--data", data, "--manifest", manifest, "--params", out / "params.json", "--json")
    code, text, _ = call(train, *trained)
    assert code == 0
    chosen = json.loads((out / "params.json").read_text())
    assert json.loads(text)["parameters"].items() >= chosen.items()


def test_other_data_and_other_folds_are_refused(small, files, tmp_path):
    data, manifest = files
    out = tmp_path / "tuned"
    options = ("--data", data, "--manifest", manifest, "--trials", 1, "--out", out)
    assert call(commands.tune_command, *options, "--folds", 2)[0] == 0
    code, _, err = call(commands.tune_command, *options, "--folds", 3)
    assert code == 1
    assert "holds another search: folds was 2 and is 3" in err
    lines = data.read_text().splitlines(keepends=True)
    data.write_text("".join([lines[0], *lines[2:], lines[1]]))
    code, _, err = call(commands.tune_command, *options, "--folds", 2)
    assert code == 1
    assert "data was" in err


def test_codes_and_randomised_answers(small, tmp_path, people):
    data = tmp_path / "codes.csv"
    codes = people(200)
    del codes["job"]
    rows = zip(*(values.tolist() for values in codes.values()), strict=True)
    data.write_text(
        ",".join(codes) + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
    )
    roles = ("--target", "income", "--protected", "gender", "--sensitive", "gender,age")
    options = ("--data", data, *roles, "--trials", 1, "--folds", 2, "--json", "--score", "roc_auc")
    scores = []
    for name, more in (
        ("clear", ()),
        ("noisy", ("--perturbed", "--protocol", "GRR", "--epsilon", "0.1")),
    ):
        code, text, err = call(commands.tune_command, *options, *more, "--out", tmp_path / name)
        assert code == 0, err
        scores.append(json.loads(text)["score"])
    assert scores[0] != scores[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--epsilon", "1"), "--epsilon goes with --perturbed, which is not given; leave it out"),
        ((), "needs --target"),
        (("--target", "a", "--protected", "b", "--sensitive", "b", "--perturbed"), "--protocol"),
        (("--manifest", __file__, "--target", "a"), "--target is the manifest's to say"),
    ],
)
def test_wrong_usage_is_named(files, tmp_path, arguments, message):
    options = ("--data", files[0], "--out", tmp_path / "out")
    code, _, err = call(commands.tune_command, *options, *arguments)
    assert code == 2
    assert message in err
    assert not (tmp_path / "out").exists()
