"""Simulated training and the options that override a manifest."""

import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_training.data.coded import override
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.models.recipe import Recipe
from hushpoll_training.runs.cell import baseline_cell, cell
from hushpoll_training.runs.training_run import train_simulated

PARAMETERS = {"n_estimators": 10, "min_child_samples": 30}


def test_it_is_one_cell_and_its_baseline(survey, people):
    published, codes = survey(epsilon="2", target={"missing": "?"}), people(2000)
    codes["income"][:500] = 2
    found = train_simulated(published, codes, Recipe.of(PARAMETERS), FitOptions(3), test_size=0.3)
    assert (
        found.ldp
        == cell(published, codes, Recipe.of(PARAMETERS), FitOptions(3), test_size=0.3).evaluation
    )
    assert (
        found.baseline
        == baseline_cell(
            published, codes, Recipe.of(PARAMETERS), FitOptions(3), test_size=0.3
        ).evaluation
    )
    assert found.mode == "simulation"
    assert found.settings == {"test_size": 0.3}
    assert found.tested_on == "600 rows in clear that were not trained on"
    expected = {
        "records": 1400,
        "fitted": 1050,
        "baseline": 1050,
        "tested": 450,
        "unanswered": 150,
    }
    assert found.rows.items() >= expected.items()
    assert set(found.timings) == {"baseline", "perturb", "fit", "score"}


def test_a_target_without_labels_is_found_before_anything_is_fitted(survey, people, monkeypatch):
    monkeypatch.setattr("hushpoll_training.runs.training_run.baseline_cell", None)
    with pytest.raises(InvalidParameter, match="collected with OLH"):
        train_simulated(
            survey(target={"protocol": "OLH"}), people(10), Recipe.of(PARAMETERS), FitOptions(3)
        )


def test_a_protocol_replaces_that_of_every_sensitive_attribute_alone(draft):
    given = draft(target={"protocol": "GRR"})
    given["attributes"][1]["protocol"] = "OLH"
    found = override(Manifest.from_dict(given), protocol="OUE").resolve()
    oracles = {one.name: one.oracle.name for one in found.perturbed}
    assert oracles == {"gender": "OUE", "age": "OUE", "income": "GRR"}


def test_split_and_epsilon_replace_the_manifests(draft):
    manifest = Manifest.from_dict(draft(split={"weights": {"gender": 3, "age": 1}}, epsilon="4"))
    assert [str(part) for part in manifest.budget().values()] == ["3", "1"]
    found = override(manifest, split="k-based", epsilon="9")
    assert [str(part) for part in found.budget().values()] == ["3", "6"]
    assert override(manifest) == manifest


def test_a_refused_option_names_its_field(draft):
    manifest = Manifest.from_dict(draft())
    for changes, field in (({"epsilon": "nan"}, "epsilon"), ({"protocol": "X"}, "protocol")):
        with pytest.raises(InvalidParameter, match="with the options") as caught:
            override(manifest, **changes)
        assert caught.value.field == field
