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
    waiting_checks,
)
from waiting import LONGEST_SECONDS, wait_until

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


@pytest.fixture
def held(people, monkeypatch):
    """Checks of passwords that begin, by name, and end once ``go_on`` is set, or one by one."""
    checks = Checks(people.users.verified)
    monkeypatch.setattr(people.users, "verified", checks)
    yield checks
    checks.go_on.set()


class Checks:
    def __init__(self, verified):
        self._verified = verified
        self.go_on = Gate()
        self.begun = []

    def __call__(self, name, password):
        self.begun.append(name)
        self.go_on.wait()
        return self._verified(name, password)

    def end_one(self):
        """End one check, and return the name of the check that begins in its place."""
        begun = len(self.begun)
        self.go_on.let_one()
        wait_until(lambda: len(self.begun) == begun + 1)
        return self.begun[-1]


class Gate:
    def __init__(self):
        self._changed = threading.Condition()
        self._open = False
        self._passes = 0

    def set(self):
        with self._changed:
            self._open = True
            self._changed.notify_all()

    def clear(self):
        with self._changed:
            self._open = False

    def let_one(self):
        with self._changed:
            self._passes += 1
            self._changed.notify()

    def wait(self):
        with self._changed:
            assert self._changed.wait_for(lambda: self._open or self._passes, LONGEST_SECONDS)
            if not self._open:
                self._passes -= 1


def fill(pool, people, held, names, address=lambda _name: None):
    """Let guesses hold every place and wait, one after the other; return their outcomes."""
    guesses = []
    for count, name in enumerate(names, 1):
        guesses.append(pool.submit(refused, begin, people, name, "wrong", address(name)))
        if count <= CHECKED_AT_ONCE:
            wait_until(lambda count=count: len(held.begun) == count)
        else:
            wait_until(lambda count=count: waiting(people) == count - CHECKED_AT_ONCE)
    return guesses


def waiting(people):
    return len(people.sign_in._checks._queue)


PLACES = CHECKED_AT_ONCE + WAITING_CHECKS


def test_people_who_sign_in_hold_few_threads_and_those_sent_away_are_counted(people, held):
    people.users.add("ada", PASSWORD, {})
    with ThreadPoolExecutor(PLACES + 1) as pool:
        guesses = fill(pool, people, held, [f"user{n}" for n in range(PLACES)])
        codes = [refused(begin, people, "other", "wrong") for _ in range(ACCOUNT_FAILURES + 1)]
        held.go_on.set()
        assert {guess.result(LONGEST_SECONDS) for guess in guesses} == {"unauthorized"}
    assert codes == ["unavailable"] * ACCOUNT_FAILURES + ["rate-limited"]


def test_person_who_was_sent_away_has_failed_nothing_once_signed_in(people, held):
    """Guards: a rush in an office would lock its address."""
    people.users.add("ada", PASSWORD, {})
    with ThreadPoolExecutor(PLACES + 1) as pool:
        guesses = fill(pool, people, held, [f"user{n}" for n in range(PLACES)])
        for _ in range(ACCOUNT_FAILURES - 1):
            assert refused(begin, people, address="office") == "unavailable"
        held.go_on.set()
        for guess in guesses:
            guess.result(LONGEST_SECONDS)
        begin(people, address="office")
    for turn in range(ADDRESS_FAILURES):
        assert refused(begin, people, f"user{turn}", "wrong", "office") == "unauthorized"


def test_person_without_failures_comes_before_those_who_guess(people, held):
    """Guards: ten connections that guessed kept everybody out."""
    people.users.add("ada", PASSWORD, {})
    held.go_on.set()
    for n in range(PLACES):
        assert refused(begin, people, f"user{n}", "wrong", f"hostile {n}") == "unauthorized"
    held.go_on.clear()
    held.begun.clear()
    with ThreadPoolExecutor(PLACES + 1) as pool:
        names = [f"user{n}" for n in range(PLACES)]
        guesses = fill(pool, people, held, names, lambda name: name.replace("user", "hostile "))
        honest = pool.submit(begin, people, "ada", PASSWORD, "at home")
        (away,) = wait(guesses, LONGEST_SECONDS, FIRST_COMPLETED).done
        assert away.result() == "unavailable"
        assert held.end_one() == "ada"
        held.go_on.set()
        assert honest.result(LONGEST_SECONDS)[0].name == "ada"
        for guess in guesses:
            guess.result(LONGEST_SECONDS)


def test_person_who_mistyped_is_not_overtaken_for_ever(people, held):
    people.users.add("ada", PASSWORD, {})
    held.go_on.set()
    assert refused(begin, people, "ada", "wrong", "at home") == "unauthorized"
    held.go_on.clear()
    held.begun.clear()
    with ThreadPoolExecutor(PLACES) as pool:
        guesses = fill(pool, people, held, ["user0", "user1"])
        honest = pool.submit(begin, people, "ada", PASSWORD, "at home")
        wait_until(lambda: waiting(people) == 1)
        guesses += [pool.submit(refused, begin, people, f"user{n}", "wrong") for n in range(2, 10)]
        wait_until(lambda: waiting(people) == 9)
        assert "ada" in {held.end_one(), held.end_one()}
        held.go_on.set()
        assert honest.result(LONGEST_SECONDS)[0].name == "ada"
        for guess in guesses:
            guess.result(LONGEST_SECONDS)


@pytest.mark.parametrize(("threads", "waiting"), [(1, 1), (4, 1), (16, 6), (32, 14), (256, 14)])
def test_with_few_threads_few_wait(threads, waiting):
    assert waiting_checks(threads) == waiting


def test_neither_address_nor_tried_name_nor_password_is_stored(site, people, tmp_path, debug_log):
    people.users.add("ada", PASSWORD, {})
    refused(begin, people, "marker-name", "marker-password", "marker-address")
    begin(people, address="marker-address")
    content = b"".join(path.read_bytes() for path in tmp_path.glob("hushpoll.sqlite*"))
    assert b"ada" in content
    for secret in (b"marker", PASSWORD.encode()):
        assert secret not in content
        assert secret.decode() not in debug_log.text
