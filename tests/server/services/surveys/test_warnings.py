"""Publishing warns of weak protection, and refuses a survey that hardly protects."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from hushpoll_analysis.planning.planner import outlook
from hushpoll_client.cli.surveys import survey as survey_commands
from hushpoll_shared.drafts.manifest import Manifest

pytestmark = pytest.mark.sqlite


def draft(*epsilons: str, name: str = "weak") -> dict[str, object]:
    total = sum(map(float, epsilons))
    return {
        "name": name,
        "version": 1,
        "title": "Weak",
        "epsilon": f"{total:g}",
        "split": {"weights": {f"q{at}": one for at, one in enumerate(epsilons)}},
        "protocol": "GRR",
        "attributes": [
            {"name": f"q{at}", "role": "sensitive", "categories": ["no", "yes"]}
            for at, _ in enumerate(epsilons)
        ],
    }


def warned(answer) -> list[str | None]:
    found = [one for one in answer.json["warnings"] if one["code"] == "weak-protection"]
    return [one.get("attribute") for one in found]


@pytest.mark.parametrize(
    ("epsilons", "about"),
    [
        (["2.999", "2.999"], []),
        (["3"], ["q0"]),
        (["2", "2", "2"], [None]),
        (["1", "8"], [None, "q1"]),
        (["8", "8"], [None, "q0", "q1"]),
    ],
)
def test_publishing_warns_from_three_for_a_question_and_six_in_all(site, epsilons, about):
    answer = site.post("/api/v1/surveys", json=draft(*epsilons))
    assert answer.status_code == 201
    assert warned(answer) == about


@pytest.mark.parametrize(
    ("epsilons", "field"),
    [
        (["8.5"], "attributes[q0].epsilon"),
        (["1", "9"], "attributes[q1].epsilon"),
        (["6", "6", "6"], "epsilon"),
    ],
)
def test_publishing_refuses_what_hardly_protects_unless_it_is_allowed(site, epsilons, field):
    answer = site.post("/api/v1/surveys", json=draft(*epsilons))
    assert site.problem(answer) == (422, "hardly-protected", field)
    assert "--allow-weak" in answer.json["remedy"]
    assert "allow_weak=true" in answer.json["remedy"]
    assert site.get("/api/v1/surveys").json["surveys"] == []
    allowed = site.post("/api/v1/surveys?allow_weak=true", json=draft(*epsilons))
    assert allowed.status_code == 201
    assert warned(allowed)


def test_allow_weak_is_true_or_false(site):
    answer = site.post("/api/v1/surveys?allow_weak=perhaps", json=draft("1"))
    assert answer.status_code == 422
    assert answer.json["field"] == "allow_weak"


def test_dry_run_shows_the_warning_and_the_refusal(tmp_path):
    def rehearse(*epsilons: str, flags: tuple[str, ...] = ()) -> str:
        file = tmp_path / "survey.json"
        file.write_text(json.dumps(draft(*epsilons)))
        done = CliRunner().invoke(survey_commands, ["publish", str(file), "--dry-run", *flags])
        assert done.exit_code == 0, done.output
        return done.output

    assert "warning:" not in rehearse("2")
    weak = rehearse("4")
    assert re.search("^warning: q0 is given epsilon 4, and respondents are told so", weak, re.M)
    assert "--allow-weak" not in weak
    assert "publishing refuses this survey without --allow-weak" in rehearse("9")
    assert "refuses" not in rehearse("9", flags=("--allow-weak",))


def test_plan_warns_of_weak_protection():
    own = outlook(Manifest.from_dict(draft("4", "1")), 1000)["own"]
    assert any(text.startswith("q0 is given epsilon 4") for text in own["warnings"])
