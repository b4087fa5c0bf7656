"""Redeeming an invitation: the same element again, the published key alone, and parting in time."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace

import pytest

from hushpoll_client import ClientConfig, InvalidParameter, SurveyClient, TransportError
from hushpoll_client.device.device import device_file
from hushpoll_shared.spelling.base64url import b64encode
from hushpoll_shared.wire import voprf
from hushpoll_shared.wire.invitations import (
    Token,
    encode_evaluation,
    key_info,
    parse_redemption,
)

SURVEY = "work-and-health"
ACCEPTED = {"status": "accepted"}
CODE = "i" * 43
CONFIG = ClientConfig(raise_faults=True, exit_patience=0, attempts=1, parting=100.0)
KEY = voprf.DeriveKeyPair(bytes(32), key_info(SURVEY, 1))
OTHER = voprf.DeriveKeyPair(b"\1" * 32, key_info(SURVEY, 1))


@pytest.fixture
def invited(published):
    return replace(published, submission="invited", invitation_key=b64encode(KEY.pkS))


@pytest.fixture
def evaluate(server, steps):
    """A step that evaluates what was sent, by default with the published key."""

    def with_key(key=KEY):
        def step(handler) -> None:
            _, blinded = parse_redemption(json.loads(server.seen[-1].body))
            steps.respond(200, encode_evaluation(*voprf.BlindEvaluate(key, blinded)))(handler)

        return step

    return with_key


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def pacing(fake_time):
    return fake_time.pacing()


@pytest.fixture
def make(server, invited, pacing):
    def client(**options) -> SurveyClient:
        settings = {"config": CONFIG, "pacing": pacing, "invitation": CODE}
        return SurveyClient(server.url, SURVEY, published=invited, **(settings | options))

    return client


@pytest.fixture
def kept(make, path):
    def client(**options) -> SurveyClient:
        made = make(storage=path, **options)
        made.give_consent()
        return made

    return client


def sent(server) -> list[tuple[str, str]]:
    """Last part of the path and bearer token of each request."""
    return [
        (one.path.rpartition("/")[2], one.headers["Authorization"].removeprefix("Bearer "))
        for one in server.seen
    ]


def test_invitation_goes_with_the_redemption_and_the_token_with_the_report(
    make, server, steps, evaluate, answers
):
    server.play(evaluate(), steps.respond(201, ACCEPTED))
    assert make().submit(answers).status == "accepted"
    (first, code), (second, text) = sent(server)
    assert (first, code, second) == ("redemptions", CODE, "reports")
    token = Token.from_text(text)
    assert voprf.Evaluate(KEY, token.input) == token.output
    # The server has seen neither the token's input nor its output before.
    assert b64encode(token.input).encode() not in server.seen[0].body
    assert CODE not in str(server.seen[1])


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_report_is_parted_from_the_redemption_at_random(
    make, server, steps, evaluate, answers, fake_time, share
):
    server.play(evaluate(), steps.respond(201, ACCEPTED))
    fake_time.share = share
    make().submit(answers)
    assert sum(fake_time.slept) == 100 * share


def test_report_that_is_kept_is_parted_in_the_background(
    kept, server, steps, evaluate, answers, fake_time, path, pacing
):
    server.play(evaluate(), steps.respond(201, ACCEPTED))
    fake_time.share = 0.5
    client = kept()
    client.randomize(answers)
    step = device_file(path, CONFIG, pacing).delivery.step
    assert step() == pytest.approx(50)
    assert len(server.seen) == 1
    fake_time.sleep(51)
    assert step() == 0
    assert [name for name, _ in sent(server)] == ["redemptions", "reports"]
    client.close()


def test_lost_answer_is_asked_for_again_with_the_same_element(
    kept, server, steps, evaluate, answers
):
    server.play(steps.drop)
    with pytest.raises(TransportError):
        kept().redeem()
    lost = server.seen[0].body
    # The app starts again.
    server.play(evaluate(), steps.respond(201, ACCEPTED))
    client = kept()
    client.redeem()
    client.redeem()  # which asks nothing
    assert [one.body for one in server.seen] == [lost]
    client.randomize(answers)
    client.close()


def test_answer_without_network_uses_the_token_of_an_earlier_run(
    kept, server, evaluate, answers, path
):
    server.play(evaluate())
    kept().redeem()
    client = kept(invitation=None)
    assert client.answer(answers).status == "kept"
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT length(token) FROM answers").fetchall() == [(128,)]
        # Nothing of the redemption stays beside the report.
        assert connection.execute("SELECT count(*) FROM redemptions").fetchall() == [(0,)]
    connection.close()
    client.withdraw()
    client.close()


def test_answered_version_redeems_nothing_more(kept, server, evaluate, answers):
    server.play(evaluate())
    first = kept().randomize(answers)
    server.seen.clear()
    again = kept()
    assert again.randomize(answers) == first
    assert server.seen == []
    again.withdraw()
    again.close()


def test_server_that_uses_another_key_is_refused(make, kept, server, evaluate, answers):
    for client in (make(), kept()):
        server.play(evaluate(OTHER))
        with pytest.raises(InvalidParameter, match="another key than the published one") as caught:
            client.submit(answers)
        assert caught.value.field == "proof"
        assert [name for name, _ in sent(server)] == ["redemptions"]


def test_answer_that_is_no_evaluation_is_not_believed(make, server, steps, answers):
    for body in ({}, {"evaluated": "AA", "proof": "AA"}, [], {"status": "accepted"}):
        server.play(steps.respond(200, body))
        with pytest.raises(TransportError) as caught:
            make().submit(answers)
        assert caught.value.retryable


def test_refused_invitation_says_what_to_do(make, server, steps, answers):
    server.play(steps.problem("invitation-redeemed"))
    with pytest.raises(TransportError, match="answer where it was first opened") as caught:
        make().submit(answers)
    assert not caught.value.retryable


def test_without_an_invitation_nothing_is_randomised(make, kept, answers, server):
    with pytest.raises(InvalidParameter, match="pass invitation=") as caught:
        make(invitation=None).randomize(answers)
    assert caught.value.field == "invitation"
    with pytest.raises(InvalidParameter, match=r"call redeem\(\) first"):
        kept().answer(answers)
    assert server.seen == []


def test_withdrawing_wipes_the_redemption(kept, server, evaluate, path):
    server.play(evaluate())
    client = kept()
    client.redeem()
    client.withdraw()
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM redemptions").fetchall() == [(0,)]
    connection.close()


def test_redemption_and_token_are_not_shown(make, server, steps, evaluate, answers, caplog):
    caplog.set_level("DEBUG")
    server.play(evaluate(), steps.respond(201, ACCEPTED))
    client = make()
    client.submit(answers)
    (_, code), (_, token) = sent(server)
    shown = caplog.text + repr(client) + repr(client._keeping.redemption(client.published))
    assert code not in shown
    assert token not in shown


def test_link_has_the_invitation():
    digest = "0" * 64
    link = f"https://polls.example.org/s/{SURVEY}#sha256={digest}&invitation={CODE}"
    with SurveyClient.from_link(link) as client:
        assert client._invitation == CODE
