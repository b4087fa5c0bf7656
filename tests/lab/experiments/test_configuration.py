"""Configurations: what is understood, and how whatever is wrong is named."""

from pathlib import Path

import pytest

from hushpoll_lab.experiments.configuration import Experiment, load_configuration
from hushpoll_protocols import PROTOCOLS
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.learners.lightgbm import LightGBM


def test_lists_are_put_in_one_order(settings):
    found = Experiment.from_dict(settings(seeds=["7", 2, "4-5"]))
    assert found.protocols == ("GRR", "OUE")
    assert found.epsilons == ("0.000001", "4")
    assert found.seeds == (2, 4, 5, 7)
    assert found.recipe.learner.parameters == {
        name: one.default for name, one in LightGBM.bounds.items()
    } | {"n_estimators": 10}
    assert found.test_size == 0.2


def test_a_text_with_commas_means_the_list(settings):
    listed = Experiment.from_dict(settings())
    text = settings(
        sensitive="Sex, age",
        protocols="GRR,OUE",
        splits="k-based,uniform",
        epsilons="0.000001,4.0",
        seeds="2,0-1",
    )
    assert Experiment.from_dict(text) == listed


def test_protocols_and_splits_are_all_unless_named(settings):
    found = Experiment.from_dict(settings(protocols=None, splits=None))
    assert found.protocols == tuple(PROTOCOLS)
    assert found.splits == ("uniform", "k-based")


def test_the_name_comes_from_the_data(settings):
    found = Experiment.from_dict(settings(name=None, data="My Data.csv"))
    assert found.name == "my_data"


def test_a_relative_path_begins_at_the_configuration(tmp_path):
    path = tmp_path / "one.yaml"
    path.write_text("data: sub/people.csv\n")
    assert Path(load_configuration(path)["data"]) == tmp_path / "sub" / "people.csv"


DRAWN = {"drawn": [2, 2], "from": ["Sex", "age"]}
BAD = [
    ({"protocol": "GRR"}, "protocol", "is no key of an experiment; use data, target"),
    ({"encoding": "ohe"}, "encoding", "encoding is 'ohe'; it must be one of indicator, posterior"),
    (
        {"encoding": "posterior", "engine": "reference"},
        "encoding",
        "the reference engine knows indicators only",
    ),
    ({"target": None}, "target", "target is missing; set target in the configuration or give --"),
    ({"seeds": None}, "seeds", "seeds is missing"),
    ({"seeds": []}, "seeds", "seeds is empty; give at least one, such as 0-19"),
    ({"seeds": ""}, "seeds", "seeds is empty"),
    ({"seeds": "a"}, "seeds", r"seeds has 'a'; each must be a whole number in \[0, 2147483648\)"),
    ({"seeds": [-1]}, "seeds", "seeds has -1; each must be a whole number"),
    ({"seeds": [1.0]}, "seeds", "seeds has 1.0; each must be a whole number"),
    ({"seeds": [True]}, "seeds", "seeds has True; each must be a whole number"),
    ({"seeds": "5-3"}, "seeds", "seeds has '5-3'; a range goes up"),
    ({"seeds": "2147483648"}, "seeds", "seeds has '2147483648'; a range goes up and stays in"),
    ({"seeds": "0-10000"}, "seeds", "seeds has '0-10000', more than 10000 seeds"),
    ({"seeds": "0-9999,10000"}, "seeds", "are more than 10000"),
    ({"seeds": "0-4,3"}, "seeds", "seeds has 3 twice; remove one"),
    ({"seeds": {"from": 1}}, "seeds", "it must be a list, such as 0-19"),
    ({"epsilons": [0]}, "epsilons", "epsilons"),
    ({"epsilons": [65]}, "epsilons", "65"),
    ({"epsilons": ["four"]}, "epsilons", "four"),
    ({"epsilons": ["4", "4.0"]}, "epsilons", "epsilons has 4 twice; remove one"),
    ({"epsilons": True}, "epsilons", "epsilons is True; it must be a list"),
    ({"protocols": ["XYZ"]}, "protocols", "protocols has 'XYZ'; each must be one of GRR, BLH"),
    ({"protocols": ["GRR", "GRR"]}, "protocols", "protocols has 'GRR' twice; remove one"),
    ({"splits": "even"}, "splits", "must be one of uniform, k-based, optimal"),
    ({"sensitive": [3]}, "sensitive", "sensitive is 3; it must name a column of the data"),
    ({"sensitive": {"draw": 2}}, "sensitive", "it must be a list of columns, or {drawn:"),
    ({"sensitive": DRAWN | {"from": ["age", "job"]}}, "sensitive.from", "lacks 'Sex', the prote"),
    ({"sensitive": DRAWN | {"drawn": [0, 2]}}, "sensitive.drawn", r"whole numbers in \[1, 2\]"),
    ({"sensitive": DRAWN | {"drawn": [2, 3]}}, "sensitive.drawn", r"sensitive.drawn is \[2, 3\]"),
    ({"sensitive": DRAWN | {"drawn": 2}}, "sensitive.drawn", "sensitive.drawn is 2; it must be"),
    ({"target": 5}, "target", "target is 5; it must name a column"),
    ({"data": 5}, "data", "data is 5; it must be the path of a CSV file of codes"),
    ({"name": "My data"}, "name", "name is 'My data'; it must be 1 to 64 characters"),
    ({"params": [1]}, "params", r"params is \[1\]; it must map names to values"),
    ({"params": {"trees": 5}}, "trees", "'trees' is no parameter of the learner; use one of"),
    ({"params": {"n_estimators": 0}}, "n_estimators", "n_estimators is 0; it must be a whole"),
    ({"test_size": 1}, "test_size", r"test_size is 1; it must be a number in \(0, 1\)"),
    ({"test_size": "0,2"}, "test_size", "test_size is '0,2'"),
    ({"ignore": [""]}, "ignore", "ignore is ''; it must name a column"),
]


@pytest.mark.parametrize(("changes", "field", "message"), BAD)
def test_what_is_wrong_is_named(settings, changes, field, message):
    with pytest.raises(InvalidParameter, match=message) as caught:
        Experiment.from_dict(settings(**changes))
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("- 1\n", r"holds \[1\]; it must map keys to values"),
        ("seeds: 1\nseeds: 2\n", "the key 'seeds' appears twice at line 2"),
        ("a: [\n", "is not YAML"),
    ],
)
def test_a_file_that_holds_no_configuration_is_named(tmp_path, content, message):
    path = tmp_path / "bad.yaml"
    path.write_text(content)
    with pytest.raises(InvalidParameter, match=message) as caught:
        load_configuration(path)
    assert str(caught.value).startswith(str(path))
