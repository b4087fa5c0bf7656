"""The certificate of a saved private model, by Python and by command."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from hushpoll_lab.cli.certificate import certificate
from hushpoll_lab.learners.private_model import certify_model
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.data.target import Target
from hushpoll_training.learner_registry import create_learner
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.models.model import fit_clear
from hushpoll_training.runs.saved import save_model

LEARNER = create_learner("output-perturbation", {"penalty": 0.05, "epsilon": 4.0, "radius": 2.5})


@pytest.fixture(scope="module")
def trained(survey, people):
    published, codes = survey(), people(3000)
    return lambda learner, seed: fit_clear(published, codes, learner, FitOptions(noise_seed=seed))


def shares(model, codes):
    """Selection and accuracy of each group less those of all rows, and accuracy."""
    predicted, label = model.predict(codes), codes["income"]
    correct = predicted == label
    of = [codes["gender"] == group for group in range(3)]
    return {
        "demographic_parity": [predicted[rows].mean() - predicted.mean() for rows in of],
        "accuracy_parity": [correct[rows].mean() - correct.mean() for rows in of],
        "equal_opportunity": [
            predicted[rows & (label == 1)].mean() - predicted[label == 1].mean() for rows in of
        ],
        "accuracy": [correct.mean()],
    }


def test_model_without_privacy_lies_in_the_intervals_of_private_ones(trained, people):
    codes = people(1500, seed=5)
    truth = shares(trained(LEARNER.without_privacy(), 0), codes)
    outside = 0
    for seed in range(60):
        found = certify_model(trained(LEARNER, seed), codes, failure=0.1).to_json()
        for name, values in truth.items():
            levels = [level for level in found["levels"] if level["notion"] == name]
            assert len(levels) == len(values)
            bounds = np.array([[level["lower"], level["upper"]] for level in levels])
            outside += not (
                (bounds[:, 0] <= np.array(values)) & (np.array(values) <= bounds[:, 1])
            ).all()
    assert outside <= 0.1 * 60
    assert 0 < found["means"]["accuracy"] < 0.5


def test_private_levels_are_those_of_the_model_itself(trained, people):
    codes = people(1500, seed=5)
    model = trained(LEARNER, 1)
    document = certify_model(model, codes).to_json()
    for name, values in shares(model, codes).items():
        levels = [level["private"] for level in document["levels"] if level["notion"] == name]
        assert levels == pytest.approx(values, abs=1e-9)
    assert document["groups"] == ["Female", "Male", "No answer"]
    assert (document["confidence"], document["rows"]) == (0.99, 1500)
    by_job = certify_model(model, codes, groups="job", tightness="markov")
    assert by_job.groups == ("a, b", "a: b", "{c}")


def test_less_noise_and_the_least_bound_give_narrower_intervals(trained, people):
    codes = people(500, seed=6)
    model = trained(LEARNER, 1)
    widths = [
        certify_model(model, codes, tightness=bound).certificates["accuracy"].mean_change
        for bound in ("share", "chernoff", "markov")
    ]
    assert widths[0] <= widths[1]
    assert widths[0] <= widths[2]
    sure = certify_model(model, codes, failure=1e-6)
    assert sure.distance > certify_model(model, codes, failure=0.5).distance


def test_models_and_groups_without_a_certificate_are_refused(trained, people, survey):
    codes = people(300, seed=6)
    trees = create_learner("lightgbm", {"n_estimators": 2})
    with pytest.raises(InvalidParameter, match="trained by lightgbm, for which no distance"):
        certify_model(trained(trees, 1), codes)
    model = trained(LEARNER, 1)
    with pytest.raises(InvalidParameter, match="groups is 'income'; it must be one of gender, age"):
        certify_model(model, codes, groups="income")
    women = {name: values[codes["gender"] == 0] for name, values in codes.items()}
    with pytest.raises(InvalidParameter, match="all of one group of gender; give rows of two"):
        certify_model(model, women)
    with pytest.raises(InvalidParameter, match="failure is 2"):
        certify_model(model, codes, failure=2)
    nobody = survey(protected=None)
    alone = fit_clear(nobody, codes, LEARNER, FitOptions(noise_seed=1))
    with pytest.raises(InvalidParameter, match="declares no protected attribute; name the"):
        certify_model(alone, codes)
    three = survey(target={"categories": ["low", "high", "other"], "protocol": "GRR"}, epsilon="3")
    clear = fit_clear(three, codes, LEARNER, FitOptions(noise_seed=1))
    reported = replace(clear, target=Target.of(three))
    with pytest.raises(InvalidParameter, match="no prediction turns where the margin is 0"):
        certify_model(reported, codes)


@pytest.fixture
def run(trained, people, write_rows, survey, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_model(trained(LEARNER, 2), tmp_path / "model", {"kind": "training run"})
    write_rows(tmp_path / "panel.csv", survey(), people(800, seed=5))
    write_rows(tmp_path / "features.csv", survey(), people(8, seed=5), without=("income",))

    def invoke(*arguments):
        return CliRunner().invoke(certificate, list(arguments))

    return invoke


def test_command_prints_the_intervals_and_the_same_as_json(run):
    text = run("model", "panel.csv")
    assert text.exit_code == 0, text.output
    assert max(map(len, text.output.splitlines())) <= 80
    said = " ".join(text.output.split())
    for words in (
        "With 99 % probability over its noise",
        "On these 800 rows",
        "equality of opportunity Female",
        "equalized odds Male, high",
        "publishing them is not private",
    ):
        assert words in said
    document = json.loads(run("model", "panel.csv", "--json", "--groups", "job").output)
    assert document["inputs"] == {"model": "model", "rows": "panel.csv"}
    assert document["attribute"] == "job"
    table = run("model", "panel.csv", "--json", "--groups", "job", "--out", "levels.csv")
    assert json.loads(table.output) == document
    lines = Path("levels.csv").read_text().splitlines()
    assert lines[0].startswith('"notion","group","label","private","lower","upper"')
    assert len(lines) == 1 + len(document["levels"])
    loose = json.loads(run("model", "panel.csv", "--json", "--bound", "markov").output)
    assert loose["bound"] == "markov"


def test_command_says_where_nothing_is_known(run, trained, tmp_path):
    noisy = create_learner("output-perturbation", {"penalty": 1e-5, "epsilon": 0.01})
    save_model(trained(noisy, 2), tmp_path / "noisy", {"kind": "training run"})
    found = run("noisy", "panel.csv")
    assert found.output.count("nothing is known") == 16
    assert "More rows to train on, or a larger epsilon or penalty, give" in found.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("model", "features.csv"), "features.csv has no column income"),
        (("model", "panel.csv", "--groups", "shoes"), "groups is 'shoes'"),
        (("model", "panel.csv", "--failure", "0"), "failure is 0.0; it must lie in (0, 1)"),
        ((".", "panel.csv"), "has no model.json"),
    ],
)
def test_mistakes_are_named(run, arguments, words):
    found = run(*arguments)
    assert found.exit_code == 1, found.output
    assert words in found.output
