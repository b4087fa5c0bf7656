"""Users, passwords, roles, sessions and lock-out, without a page."""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

import pytest

from hushpoll_server.errors import Refused
from hushpoll_server.services.people.roles import Role
from hushpoll_server.services.people.sign_in import (
    ACCOUNT_FAILURES,
    ADDRESS_FAILURES,
    CHECKED_AT_ONCE,
    EVERYWHERE_FAILURES,
    LOCK_SECONDS,
    SESSION_SECONDS,
    WAITING_CHECKS,
)
from waiting import LONGEST_SECONDS

pytestmark = pytest.mark.sqlite
PASSWORD = "correct horse battery"


def begin(people, name="ada", password=PASSWORD, address=None):
    return people.sign_in.begin(name, password, address=address)


def refused(call, *arguments, **options):
    with pytest.raises(Refused) as caught:
        call(*arguments, **options)
    return caught.value.code


def test_session_is_recognised_until_it_ends_or_is_over(site, people):
    people.users.add("ada", PASSWORD, {"work": "reader"})
    member, secret = begin(people)
    signed_in = people.sign_in.recognise(secret)
    assert signed_in.member == member
    assert people.sign_in.recognise(secret + "x") is None
    assert people.sign_in.recognise(None) is None
    _, other = begin(people)
    assert len(people.sign_in.sessions(member)) == 2
    assert people.sign_in.end(member, signed_in.session.id)
    assert people.sign_in.recognise(secret) is None
    site.clock.advance(SESSION_SECONDS - 1)
    assert people.sign_in.recognise(other) is not None
    site.clock.advance(1)
    assert people.sign_in.recognise(other) is None
    assert people.sign_in.sessions(member) == []


def test_session_of_another_user_cannot_be_ended(people):
    people.users.add("ada", PASSWORD, {})
    eve = people.users.add("eve", PASSWORD, {})
    _, secret = begin(people)
    session = people.sign_in.recognise(secret).session
    assert not people.sign_in.end(eve, session.id)
    assert people.sign_in.recognise(secret) is not None


@pytest.mark.parametrize("change", ["password", "removal"])
def test_new_password_and_removal_end_every_session(people, change):
    people.users.add("ada", PASSWORD, {})
    secrets = [begin(people)[1] for _ in range(2)]
    if change == "password":
        people.users.set_password("ada", PASSWORD[::-1])
    else:
        people.users.remove("ada")
    assert [people.sign_in.recognise(secret) for secret in secrets] == [None, None]
    assert refused(begin, people) == "unauthorized"


def test_role_of_a_session_is_that_of_now(people):
    people.users.add("ada", PASSWORD, {"work": "reader"})
    _, secret = begin(people)
    people.users.set_role("ada", "work", "editor")
    assert people.sign_in.recognise(secret).member.role("work") is Role.EDITOR
    people.users.set_role("ada", "work", None)
    assert people.sign_in.recognise(secret).member.role("work") is None


@pytest.mark.parametrize("name", ["ada", "nobody"])
def test_account_is_locked_after_wrong_passwords_whether_it_exists_or_not(site, people, name):
    people.users.add("ada", PASSWORD, {})
    codes = [refused(begin, people, name, "wrong") for _ in range(ACCOUNT_FAILURES)]
    assert codes == ["unauthorized"] * ACCOUNT_FAILURES
    assert refused(begin, people, name, PASSWORD) == "rate-limited"
    site.clock.advance(LOCK_SECONDS)
    assert refused(begin, people, name, "wrong") == "unauthorized"


def test_right_password_forgets_the_failures_of_its_account(people):
    people.users.add("ada", PASSWORD, {})
    for _ in range(3):
        for _ in range(ACCOUNT_FAILURES - 1):
            assert refused(begin, people, "ada", "wrong") == "unauthorized"
        begin(people)


def test_address_is_locked_over_all_accounts_and_no_other_address_is(people):
    """A right password in between gives its address no new tries."""
    people.users.add("ada", PASSWORD, {})
    for turn in range(ADDRESS_FAILURES):
        assert refused(begin, people, f"user{turn}", "wrong", "one") == "unauthorized"
        if turn == ADDRESS_FAILURES // 2:
            begin(people, address="one")
    assert refused(begin, people, address="one") == "rate-limited"
    begin(people, address="other")
    begin(people)


def test_one_address_locks_nobody_out_at_another(people):
    people.users.add("ada", PASSWORD, {})
    for _ in range(ACCOUNT_FAILURES):
        assert refused(begin, people, "ada", "wrong", "hostile") == "unauthorized"
    assert refused(begin, people, "ada", PASSWORD, "hostile") == "rate-limited"
    begin(people, address="at work")


def test_many_addresses_together_lock_an_account(people):
    people.users.add("ada", PASSWORD, {})
    for turn in range(EVERYWHERE_FAILURES):
        address = f"address {turn % 20}"
        assert refused(begin, people, "ada", "wrong", address) == "unauthorized"
        if turn == EVERYWHERE_FAILURES // 2:
            begin(people, address="at work")
    assert refused(begin, people, address="at work") == "rate-limited"


def test_people_who_sign_in_hold_few_threads(people, monkeypatch):
    people.users.add("ada", PASSWORD, {})
    go_on, verified = threading.Event(), people.users.verified

    def held(name, password):
        assert go_on.wait(LONGEST_SECONDS)
        return verified(name, password)

    monkeypatch.setattr(people.users, "verified", held)
    places = CHECKED_AT_ONCE + WAITING_CHECKS
    with ThreadPoolExecutor(places + 1) as pool:
        together = [pool.submit(begin, people, address=f"{n}") for n in range(places + 1)]
        try:
            (done, others) = wait(together, timeout=LONGEST_SECONDS, return_when=FIRST_COMPLETED)
            codes = [refused(begin, people, address="busy") for _ in range(ACCOUNT_FAILURES + 1)]
        finally:
            go_on.set()
        (one,) = done
        assert refused(one.result) == "unavailable"
        assert len([other.result() for other in others]) == places
    assert set(codes) == {"unavailable"}
    # What was not checked is no failure.
    begin(people, address="busy")


def test_neither_address_nor_tried_name_nor_password_is_stored(site, people, tmp_path, debug_log):
    people.users.add("ada", PASSWORD, {})
    refused(begin, people, "marker-name", "marker-password", "marker-address")
    begin(people, address="marker-address")
    content = b"".join(path.read_bytes() for path in tmp_path.glob("hushpoll.sqlite*"))
    assert b"ada" in content
    for secret in (b"marker", PASSWORD.encode()):
        assert secret not in content
        assert secret.decode() not in debug_log.text
