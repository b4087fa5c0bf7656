from __future__ import annotations

import pytest

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.config import ClientConfig
from hushpoll_protocols.errors import InvalidParameter, ManifestRefused, TransportError
from hushpoll_shared.drafts.manifest import Manifest


@pytest.fixture
def analyst(server):
    with AnalystClient(server.url, "t0ken", config=ClientConfig(attempts=1)) as client:
        yield client


def test_the_token_is_sent_and_never_shown(server, steps, analyst):
    server.play(steps.respond(200, {"surveys": []}))
    assert analyst.surveys() == []
    assert server.seen[0].headers["Authorization"] == "Bearer t0ken"
    assert "t0ken" not in repr(analyst)


def test_a_published_survey_is_public(server, steps, analyst, published):
    server.play(steps.respond(200, published.canonical))
    assert analyst.show("work-and-health", 1).digest == published.digest
    assert "Authorization" not in server.seen[0].headers
    assert server.seen[0].path == "/api/v1/surveys/work-and-health/versions/1"


@pytest.mark.parametrize(("changes", "version"), [({"name": "other"}, None), ({"version": 2}, 1)])
def test_another_survey_than_asked_for_is_refused(server, steps, analyst, draft, changes, version):
    server.play(steps.respond(200, Manifest.from_dict(draft | changes).resolve().canonical))
    with pytest.raises(ManifestRefused, match="check its address"):
        analyst.show("work-and-health", version)


@pytest.mark.parametrize(
    ("call", "body"),
    [
        (lambda analyst: analyst.surveys(), {"surveys": 3}),
        (lambda analyst: analyst.surveys(), []),
        (lambda analyst: analyst.estimates("s", 1), [1]),
        (lambda analyst: analyst.mint_tokens("s", 1), {}),
        (lambda analyst: analyst.submit_bulk("s", b""), {"accepted": "1"}),
        (lambda analyst: analyst.submit_bulk("s", b""), {"accepted": 1, "duplicate": True}),
        (lambda analyst: analyst.submit_bulk("s", b""), {"accepted": 1, "duplicate": 0}),
    ],
)
def test_an_answer_of_another_form_is_a_terminal_error(server, steps, analyst, call, body):
    server.play(steps.respond(200, body))
    with pytest.raises(TransportError, match="the server's answer has no") as caught:
        call(analyst)
    assert not caught.value.retryable


def test_a_digest_is_found_in_the_list(server, steps, analyst):
    entry = {
        "survey": "s", "version": 2, "title": "S", "digest": "a" * 64, "state": "open",
    }  # fmt: skip
    server.play(steps.respond(200, {"surveys": [entry | {"digest": "b" * 64}, entry]}))
    assert analyst.find("a" * 64) == entry
    assert analyst.find("c" * 64) is None
    with pytest.raises(InvalidParameter, match="64"):
        analyst.find("short")


def test_names_are_checked_before_anything_is_sent(server, analyst):
    for call in (
        lambda: analyst.show("A/B"),
        lambda: analyst.close("A/B", 1),
        lambda: analyst.estimates("A/B", 1),
        lambda: analyst.export("A/B", 1, bytes),
        lambda: analyst.submit_bulk("A/B", b""),
        lambda: analyst.mint_tokens("A/B", 1),
    ):
        with pytest.raises(InvalidParameter) as caught:
            call()
        assert caught.value.field == "survey"
    assert server.seen == []
