"""The model card: made from the run's record, whole, readable, and asking nobody for anything."""

import json
import re

import pytest
from click.testing import CliRunner

from hushpoll_analysis import Records
from hushpoll_analysis.html import style_sheet
from hushpoll_shared.spelling.clock import FixedClock
from hushpoll_training import run_record, train_collected, train_simulated
from hushpoll_training.cli.card import card
from hushpoll_training.evaluation.metrics import FAIRNESS, UTILITY
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.models.recipe import Recipe
from hushpoll_training.reports.card import model_card
from hushpoll_training.reports.pages import card_page
from hushpoll_training.runs.saved import save_model

FEW = {"n_estimators": 8, "min_child_samples": 30}
CLOCK = FixedClock("2026-01-02T03:04:05Z")


@pytest.fixture(scope="module")
def run(survey, people):
    published = survey(epsilon="4", title="A <i>small</i> survey", target={"protocol": "GRR"})
    outcome = train_simulated(
        published, people(3000), Recipe.of(FEW, encoding="posterior"), FitOptions(3)
    )
    options = {"clock": CLOCK, "groupings": [("gender", "job")]}
    return outcome, run_record(outcome, {"data": "people.csv"}, **options)


@pytest.fixture(scope="module")
def made(run):
    return model_card(run[1])


def test_it_names_the_survey_its_budget_and_every_attribute(made, run):
    published = run[0].model.published
    assert made["survey"]["digest"] == published.digest
    assert (made["survey"]["epsilon"], made["survey"]["protocol"]) == ("4", "GRR")
    rows = [(one["name"], one["protocol"], one["epsilon"], one["categories"])
            for one in made["survey"]["attributes"]]  # fmt: skip
    part = published.attribute("age").oracle.epsilon
    assert rows == [
        ("gender", "GRR", str(part), 3),
        ("age", "GRR", str(part), 6),
        ("job", None, None, 3),
        ("income", "GRR", str(part), 2),
    ]
    assert made["model"]["encoding"] == "posterior"
    assert made["model"]["parameters"]["n_estimators"] == 8
    assert json.loads(json.dumps(made, allow_nan=False)) == made


def test_every_metric_has_an_interval_around_it(made, run):
    for model, evaluation in (("ldp", run[0].ldp), ("baseline", run[0].baseline)):
        assert list(made["metrics"][model]) == [*UTILITY, *FAIRNESS]
        for name, found in made["metrics"][model].items():
            assert found["value"] == evaluation.metrics[name].number()
            assert found["interval"]["lower"] < found["value"] < found["interval"]["upper"]


def test_its_limits_say_what_was_tested_and_what_was_not(made):
    limits = " ".join(made["limits"])
    for words in (
        "at most epsilon 4",
        "as deployed on LDP records",
        "This is a simulation",
        "600 rows in clear that were not trained on",
        "The target was randomised as well",
        "of 20 at 95 %, one is expected to miss",
        "one look at the results",
        "too small to be measured is not thereby treated alike",
    ):
        assert words in limits


def test_the_page_stands_alone(made):
    text = card_page(made)
    assert style_sheet() in text
    for part in ("<script", "src=", "href=", "url(", "@import", "http:", "https:"):
        assert part not in text
    assert '<html lang="en">' in text
    assert text.count("<h1>") == 1
    assert text.count("<table") == text.count("<caption") > 8
    assert text.count("<svg") == text.count('role="img" aria-label=') >= 5
    regions = re.findall(r'role="region" aria-label="([^"]*)"', text)
    assert len(set(regions)) == len(regions) == text.count("<table")
    assert "A &lt;i&gt;small&lt;/i&gt; survey" in text
    assert "<i>" not in text
    assert made["survey"]["digest"] in text
    for name in ("gender=Female, job={c}", "Fairness by gender and job", "none: not private"):
        assert name in text


def test_without_a_panel_the_card_says_that_nothing_was_measured(survey, people, perturbed):
    published = survey(epsilon="4", protected=None)
    outcome = train_collected(
        Records(published, perturbed(published, people(500))), Recipe.of(FEW), FitOptions(1)
    )
    made = model_card(run_record(outcome, {"records": "a.records"}, clock=CLOCK))
    assert made["metrics"] is None
    limits = " ".join(made["limits"])
    assert "Nothing was measured: no panel was given" in limits
    assert "declares no protected attribute" in limits
    assert "no panel was given" in card_page(made)


def test_an_undefined_metric_is_explained(survey, people):
    published = survey(epsilon="4")
    codes = people(600)
    codes["gender"][:] = 0
    outcome = train_simulated(published, codes, Recipe.of(FEW), FitOptions(1))
    made = model_card(run_record(outcome, {}, clock=CLOCK))
    text = card_page(made)
    assert "DI of this model is undefined: there is no row in the privileged group" in text
    assert "too few rows to be measured" in text
    assert "nan" not in text.replace("<", " ").split()


def test_the_command_makes_the_card_again(run, made, tmp_path):
    folder = tmp_path / "model"
    save_model(run[0].model, folder, run[1], card=made)
    assert json.loads((folder / "card.json").read_text()) == made
    page = (folder / "card.html").read_text()
    (folder / "card.html").unlink()
    result = CliRunner().invoke(card, [str(folder)])
    assert result.exit_code == 0, result.output
    assert (folder / "card.html").read_text() == page
    result = CliRunner().invoke(card, [str(folder), "--json"])
    assert json.loads(result.output) == made
    result = CliRunner().invoke(card, [str(folder), "--out", str(tmp_path / "x.html")])
    assert (tmp_path / "x.html").read_text() == page
    # a model saved in its place without a card keeps none of the old one
    save_model(run[0].model, folder, {"seed": 1}, overwrite=True)
    assert not (folder / "card.html").exists()
    result = CliRunner().invoke(card, [str(folder)])
    assert result.exit_code == 1
    assert "is no record of a training run" in result.output
    result = CliRunner().invoke(card, [str(tmp_path)])
    assert "has no run.json; give a directory" in result.output
