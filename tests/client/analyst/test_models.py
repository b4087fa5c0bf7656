"""Calls of an analyst about models, and what a terminal shows of them."""

from __future__ import annotations

import pytest

from client.whole_documents import value_of
from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli import kept_results
from hushpoll_client.config import ClientConfig
from hushpoll_protocols.errors import InvalidParameter, TransportError
from hushpoll_shared.wire.documents.kept_results import LearnerList

ID = "0123456789abcdef" * 2
LEARNERS = value_of(LearnerList)
SHARE = {"value": 0.8125, "standard_error": 0.01, "lower": 0.79, "upper": 0.83}


@pytest.fixture
def analyst(server):
    with AnalystClient(server.url, "t0ken", config=ClientConfig(attempts=1)) as client:
        yield client


def test_models_are_listed_read_and_fetched(server, steps, analyst):
    server.play(
        steps.respond(200, {"runs": [{"job": {"id": ID}}]}),
        steps.respond(200, LEARNERS),
        steps.respond(200, {"id": ID, "card": {"title": "x"}}),
        steps.respond(200, {"PK": 1}),
    )
    assert analyst.models("s", 1) == [{"job": {"id": ID}}]
    assert analyst.learners("s", 1) == LEARNERS
    assert analyst.model_card(ID) == {"title": "x"}
    pieces = []
    assert analyst.model_file(ID, pieces.append) == len(b"".join(pieces)) > 0
    assert [(seen.method, seen.path.removeprefix("/api/v1")) for seen in server.seen] == [
        ("GET", "/surveys/s/versions/1/models"),
        ("GET", "/surveys/s/versions/1/learners"),
        ("GET", f"/models/{ID}"),
        ("GET", f"/models/{ID}/file"),
    ]


def test_what_is_no_model_is_refused(server, steps, analyst):
    server.play(steps.respond(200, {"id": ID, "card": 3}))
    with pytest.raises(TransportError, match="has no card"):
        analyst.model_card(ID)
    with pytest.raises(InvalidParameter, match="id is"):
        analyst.delete_model("../x")


def test_run_in_words_says_parameters_privacy_and_accuracy():
    job = {"id": ID, "created_at": "now", "state": "done", "parameters": {"seed": 3}}
    about = {"learner": "trees", "encoding": "indicator", "local_epsilon": "4"}
    assert kept_results._run({"job": {**job, "state": "queued"}}) == f"{ID}  now  queued"
    line = f"{ID}  now  done\n  trees; indicator; seed 3; local epsilon 4"
    assert kept_results._run({"job": job, "model": about}) == line
    measured = {"accuracy": SHARE, "constant": {**SHARE, "value": 0.6}}
    private = {**about, "epsilon": 1.0, "on_records": measured}
    assert kept_results._run({"job": job, "model": private}) == (
        f"{line}, central epsilon 1\n  accuracy on perturbed records 0.8125 [0.7900, 0.8300], "
        "always the more frequent class 0.6000"
    )
    verdict = "worse than always the more frequent class"
    flagged = {**about, "on_records": {**measured, "verdict": verdict}}
    assert kept_results._run({"job": job, "model": flagged}).endswith(f"class 0.6000: {verdict}")
    better = {**measured, "verdict": "better than always the more frequent class"}
    assert kept_results._accuracy(better).endswith("class 0.6000")


def test_learners_in_words_say_intervals_and_why_some_cannot_run():
    number = {"name": "rounds", "kind": "whole number", "low": 1, "high": 10, "default": 5}
    words = {"name": "law", "kind": "word", "words": ["a", "b"], "default": "a"}
    open_ended = {"name": "width", "kind": "number", "low": 0.5, "default": 1.0}
    here = {"name": "trees", "description": "Trees", "parameters": [number, words, open_ended]}
    there = {"name": "other", "reason": "it needs rows in clear", "parameters": []}
    assert kept_results._learners(
        {"reason": "no target", "learners": [here, there]}
    ).splitlines() == [
        "no target",
        "trees: Trees",
        "  rounds: whole number in [1, 10]; 5 by default",
        "  law: one of a, b; a by default",
        "  width: number from 0.5; 1.0 by default",
        "other: cannot run here: it needs rows in clear",
    ]
