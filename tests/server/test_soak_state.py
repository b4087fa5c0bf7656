"""What the walk would find: each fault that it looks for, planted in what the database holds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hushpoll_server.store.withdrawals import is_record
from hushpoll_shared.survey.terms import INVITED, OPEN
from hushpoll_shared.wire import reports as wire
from hushpoll_shared.wire.invitations import INPUT_SIZE, OUTPUT_SIZE, Token
from hushpoll_shared.wire.withdrawals import id_of
from soak.state import DELETED, STORED, Found, Sent, Survey, check, check_groups, spent_of


def sent(number, state=STORED):
    secret = bytes([number]) * 32
    return Sent(wire.Report(id_of(secret), bytes([number])), secret, "Alder", state=state)


@pytest.fixture
def survey():
    class Named:
        name = "survey"
        submission = OPEN

    kept = [sent(number) for number in range(5)] + [sent(9, DELETED)]
    return Survey(Named(), "daily", 2, sent=kept)


@pytest.fixture
def found(survey):
    waiting = {one.report.id: one.report.record for one in survey.sent[:2]}
    sealed = survey.sent[2:]
    return Found(
        waiting=waiting,
        known={one.report.id for one in survey.sent},
        sealed_ids={one.report.id for one in sealed},
        rows=[one.report.record for one in sealed if one.state == STORED],
        sealed=3,
        released=3,
        withdrawn=1,
        ended=False,
        gone=False,
        spent=set(),
    )


def test_what_agrees_passes(survey, found):
    check(survey, found)
    assert (survey.sealed, survey.released) == (3, 3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda found: {"known": found.known - found.waiting.keys()}, "are lost"),
        (lambda found: {"rows": [*found.rows, bytes([9])], "sealed": 4}, "are sealed of 5"),
        (lambda found: {"rows": [*found.rows[:-1], bytes([9])]}, "not those that were sent"),
        (lambda found: {"rows": [*found.rows[:-1], found.rows[0]]}, "not those that were sent"),
        (lambda found: {"rows": found.rows[:-1]}, "records and counts differ"),
        (lambda found: {"withdrawn": 0}, "counted as withdrawn"),
        (lambda found: {"sealed_ids": {*found.sealed_ids, *found.waiting}}, "both waits and"),
        (lambda found: {"known": {*found.known, bytes(16)}}, "an id that nobody sent"),
        (lambda found: {"released": 1}, "1 were released at once, and minimum_batch is 2"),
    ],
)
def test_planted_fault_is_found(survey, found, change, words):
    with pytest.raises(AssertionError, match=words):
        check(survey, replace(found, **change(found)))


def test_withdrawn_report_that_waits_is_found(survey, found):
    away = survey.sent[-1].report
    waiting = {**found.waiting, away.id: away.record}
    with pytest.raises(AssertionError, match="a withdrawn report waits"):
        check(survey, replace(found, waiting=waiting, sealed_ids=found.sealed_ids - {away.id}))
    assert is_record(away.record, bytes(1))


def test_the_end_may_release_the_rest(survey, found):
    check(survey, replace(found, released=1, ended=True))


def test_tokens_are_spent_once_and_kept_until_the_end(survey, found):
    survey.published.submission = INVITED
    for number, one in enumerate(survey.sent):
        one.token = Token(bytes([number]) * INPUT_SIZE, bytes(OUTPUT_SIZE)).to_text()
    spent = {spent_of(one) for one in survey.sent}
    check(survey, replace(found, spent=spent))
    check(survey, replace(found, spent=set(), ended=True))
    with pytest.raises(AssertionError, match="1 spent tokens differ"):
        check(survey, replace(found, spent=spent - {spent_of(survey.sent[0])}))
    survey.sent[1].token = survey.sent[0].token
    with pytest.raises(AssertionError, match="a token counts twice"):
        check(survey, replace(found, spent=spent))


def test_groups_that_are_large_and_rest_pass(survey, found):
    over = replace(found, sealed=5, released=5, ended=True)
    for _ in range(2):
        check_groups(survey, over, {"Alder": 1.0}, 5)
    assert survey.shown == {"Alder": 5}
    check_groups(survey, found, {}, 5)


@pytest.mark.parametrize(
    ("change", "shown", "words"),
    [
        ({"ended": False}, {"Alder": 1.0}, "shown before the end"),
        ({}, {"Alder": 0.8, "others": 0.2}, "Alder has 4 reports and is shown"),
        ({"released": 6}, {"Alder": 1.0}, "Alder is shown with 6 of 5"),
    ],
)
def test_planted_fault_of_groups_is_found(survey, found, change, shown, words):
    over = replace(found, sealed=5, released=5, ended=True)
    with pytest.raises(AssertionError, match=words):
        check_groups(survey, replace(over, **change), shown, 5)


def test_group_that_moves_by_one_is_found(survey, found):
    over = replace(found, sealed=5, released=5, ended=True)
    check_groups(survey, over, {"Birch and Cedar together": 1.0}, 4)
    with pytest.raises(AssertionError, match="moved from"):
        check_groups(survey, over, {"Birch and Cedar together": 0.8, "Alder": 1.0}, 4)
