"""`hushpoll regress SURVEY` asks a worker, and `survey` may be left out."""

import json

import pytest
from click.testing import CliRunner

from client.whole_documents import job_document
from hushpoll_client.cli.command_group import LazyGroup
from hushpoll_client.cli.commands import COMMANDS

ID = "ab" * 16
ANSWER = {
    "verdict": {"says": "informative", "sentence": "The records can tell."},
    "formula": "income ~ gender",
    "family": "logit",
    "outcome": {"name": "income", "categories": ["poor", "rich"], "reference": "poor"},
    "predictors": ["gender"],
    "n": 1200,
    "dropped": 0,
    "perturbed": ["gender"],
    "log_likelihood": -12.5,
    "convergence": {"converged": True, "steps": 4, "starts": 1, "agreed": 1},
    "standard_errors": "observed information",
    "confidence": 0.95,
    "coefficients": [
        {
            "name": "gender[T.Male]",
            "estimate": 0.53,
            "standard_error": 0.1,
            "p_value": 0.001,
            "lower": 0.33,
            "upper": 0.73,
            "compares": [{"predictor": "gender", "category": "Male", "reference": "Female"}],
            "plain": {"estimate": 0.2, "standard_error": 0.05},
        }
    ],
    "plain_is_wrong": "It is wrong.",
    "sentences": ["Other things equal, the odds are 1.7 times as large: 1.39 to 2.08."],
    "tests": [],
    "marginal_effects": [],
    "predictors_model": [],
    "predicted": [],
    "notes": [],
}


@pytest.mark.parametrize("words", [("regress", "survey"), ("regress",)])
def test_regression_of_a_survey_is_shown_with_its_finding_first(
    server, steps, words, monkeypatch, published
):
    monkeypatch.setenv("HUSHPOLL_TOKEN", "t0ken")
    job = job_document(ID, "done")
    server.play(
        steps.respond(202, job), steps.respond(200, ANSWER), steps.respond(200, published.canonical)
    )
    typed = (*words, "work-and-health", "--version", "1", "--formula", "income ~ gender")
    options = ("--at", "gender=Male", "--url", server.url)
    result = CliRunner().invoke(LazyGroup(COMMANDS), [*typed, *options])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("- Other things equal, the odds are 1.7 times")
    assert "gender: Your gender?" in result.stdout
    assert "Compared with: income: poor; gender: Female." in result.stdout
    assert result.stdout.index("odds are") < result.stdout.index("The records can tell.")
    assert " 0.53 " in result.stdout
    assert "0.33 to 0.73" in result.stdout
    assert " 0.20" in result.stdout
    assert "It is wrong." in result.stdout
    assert "(wrong)" in result.stdout
    assert server.seen[0].path == "/api/v1/surveys/work-and-health/versions/1/jobs/regress"
    body = json.loads(server.seen[0].body)
    assert body["formula"] == "income ~ gender"
    assert body["at"] == {"gender": "Male"}
