"""The data of an experiment that a manifest describes: in its categories, or in its codes."""

import json
import pickle

import numpy as np
import pytest

from hushpoll_lab.experiments.configuration import Experiment, load_configuration
from hushpoll_lab.experiments.engine import run_experiment
from hushpoll_lab.experiments.grid import Task, publish
from hushpoll_lab.experiments.protocol_grid import check_columns, read_data
from hushpoll_protocols.errors import InvalidParameter

GRID = {
    "protocols": "OUE",
    "splits": "k-based",
    "epsilons": "4",
    "seeds": "0",
    "params": {"n_estimators": 5},
}


@pytest.fixture
def described(tmp_path, draft, survey, people, write_rows):
    """A configuration with a manifest whose own protocol, split and epsilon are others."""
    manifest = tmp_path / "small.json"
    manifest.write_text(json.dumps(draft(protocol="GRR", epsilon="0.5")))
    rows = write_rows(tmp_path / "small.csv", survey(), people(300))
    return lambda **changes: GRID | {"data": str(rows), "manifest": str(manifest)} | changes


def test_a_manifest_gives_names_roles_and_domains(described, people):
    found = Experiment.from_dict(described())
    assert (found.name, found.target, found.protected) == ("small", "income", "gender")
    assert (found.sensitive, found.drawn) == (("gender", "age"), None)
    codes = read_data(found)
    for name, values in people(300).items():
        assert codes[name].tolist() == values.tolist()
    published = publish(found, codes, Task("OUE", "k-based", "4", 0))
    assert {one.oracle.name for one in published.perturbed} == {"OUE"}
    # 3 and 6 of 9 categories; the missing one of gender counts
    assert [str(one.epsilon) for one in published.perturbed] == ["1.333333333333", "2.666666666666"]
    assert published.attribute("job").domain == ("a, b", "a: b", "{c}")


def test_codes_in_its_domains_are_the_same_rows(described, people, tmp_path):
    codes = people(300)
    path = tmp_path / "codes.csv"
    names = ["income", "job", "age", "gender"]
    rows = np.column_stack([codes[name] for name in names])
    np.savetxt(path, rows, fmt="%d", delimiter=",", header=",".join(names), comments="")
    found = read_data(Experiment.from_dict(described(data=str(path), coded=True)))
    expected = read_data(Experiment.from_dict(described()))
    assert list(found) == list(expected)
    assert all((found[name] == expected[name]).all() for name in expected)


@pytest.mark.parametrize(
    ("header", "row", "message"),
    [
        ("gender,age,job,income", "3,0,0,0", r"row 1, column gender: 3 is no code in \[0, 2\]"),
        ("gender,age,job", "0,0,0", "has no column income, which small asks; add it"),
        ("gender,age,job,income,x", "0,0,0,0,0", "has the column 'x', which small does not ask"),
    ],
)
def test_codes_outside_its_domains_are_named(described, tmp_path, header, row, message):
    path = tmp_path / "codes.csv"
    path.write_text(f"{header}\n{row}\n")
    experiment = Experiment.from_dict(described(data=str(path), coded=True))
    with pytest.raises(InvalidParameter, match=message):
        read_data(experiment)


def test_its_settings_are_the_experiments_and_travel_to_a_worker(described):
    found = Experiment.from_dict(described(coded=False))
    assert found.settings()["manifest"]["attributes"][0]["name"] == "gender"
    assert pickle.loads(pickle.dumps(found)) == found
    check_columns(found, read_data(found))


def test_it_runs(described, tmp_path):
    done = run_experiment(Experiment.from_dict(described()), tmp_path / "out", jobs=1)
    assert (done.cells, done.failed) == (2, {})


def test_a_path_in_a_file_begins_at_the_file(tmp_path):
    path = tmp_path / "one.yaml"
    path.write_text("data: a.csv\nmanifest: sub/b.json\n")
    assert load_configuration(path)["manifest"] == str(tmp_path / "sub" / "b.json")


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"target": "income"}, "target", "target is the manifest's to say"),
        ({"sensitive": ["age"]}, "sensitive", "sensitive is the manifest's to say"),
        ({"name": "x"}, "name", "name is the manifest's to say"),
        ({"manifest": 3}, "manifest", "manifest is 3; it must be the path"),
        ({"coded": "yes"}, "coded", "coded is 'yes'; it must be true or false"),
        ({"manifest": None, "coded": True}, "coded", "coded says how the data relates"),
        ({"engine": "pure"}, "engine", "engine is 'pure'; it must be one of hushpoll, reference"),
    ],
)
def test_whatever_contradicts_the_manifest_is_named(described, changes, field, message):
    with pytest.raises(InvalidParameter, match=message) as caught:
        Experiment.from_dict(described(**changes))
    assert caught.value.field == field


def test_a_manifest_without_a_target_or_groups_is_refused(described, draft, tmp_path):
    for lacking in ("target", "protected attribute"):
        changed = draft()
        if lacking == "target":
            changed["attributes"][-1] = {
                "name": "income",
                "role": "plain",
                "categories": ["a", "b"],
            }
        else:
            del changed["protected"]
        path = tmp_path / "lacking.json"
        path.write_text(json.dumps(changed))
        with pytest.raises(InvalidParameter, match=f"has no {lacking}, so there is nothing to"):
            Experiment.from_dict(described(manifest=str(path)))
