"""Parameters of the learner: misspelt, mistyped and out of bounds are refused by name."""

import lightgbm
import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.cli.named_values import named_values
from hushpoll_training.learner_registry import create_learner
from hushpoll_training.learners.lightgbm import LightGBM


def test_defaults_are_those_of_lightgbm():
    theirs = lightgbm.LGBMClassifier().get_params()
    native = {"scale_pos_weight": 1.0, "max_bin": 255}  # not named by the scikit-learn interface
    assert {name: allowed.default for name, allowed in LightGBM.bounds.items()} == {
        name: native[name] if name in native else theirs[name] for name in LightGBM.bounds
    }


def test_later_texts_and_files_win(tmp_path):
    path = tmp_path / "params.json"
    path.write_text('{"n_estimators": 7, "max_depth": 38}')
    found = LightGBM(named_values([str(path), "n_estimators=9", "learning_rate = 2e-2"]))
    assert found == LightGBM({"n_estimators": 9, "max_depth": 38, "learning_rate": 0.02})
    assert found.parameters["num_leaves"] == 31


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("learnig_rate=0.1", "learnig_rate"),
        ("objective=regression", "objective"),
        ("random_state=3", "random_state"),
        ("n_estimators=0", "n_estimators"),
        ("n_estimators=1.5", "n_estimators"),
        ("n_estimators=many", "n_estimators"),
        ("learning_rate=nan", "learning_rate"),
        ("learning_rate=1.01", "learning_rate"),
        ("no-such-file.json", "params"),
    ],
)
def test_each_mistake_names_its_parameter(text, field):
    with pytest.raises(InvalidParameter) as caught:
        LightGBM(named_values([text]))
    assert caught.value.field == field


@pytest.mark.parametrize("content", ["[1]", "{", '"text"'])
def test_a_file_that_is_no_object_is_refused(tmp_path, content):
    path = tmp_path / "params.json"
    path.write_text(content)
    with pytest.raises(InvalidParameter, match=r"params\.json"):
        LightGBM(named_values([str(path)]))


def test_a_boolean_is_no_number():
    with pytest.raises(InvalidParameter, match="max_depth is True"):
        LightGBM({"max_depth": True})


@pytest.mark.parametrize("name", ["dpsgd", "fairdp", "dpsgd-parity"])
def test_accountant_is_one_of_three_words_and_part_of_the_claim(name):
    assert create_learner(name).parameters["accountant"] == "prv"
    chosen = create_learner(name, named_values(["accountant=gdp"]))
    assert "GDP" in chosen.claim.accountant
    assert not chosen.claim.proven
    for wrong in ("best", 1):
        with pytest.raises(InvalidParameter, match=r"must be one of prv, rdp, gdp; .* is prv"):
            create_learner(name, {"accountant": wrong})
