"""A sign-in under way while its user gets another password, is removed or loses the account."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from argon2 import PasswordHasher
from sqlalchemy import select

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.errors import Refused
from hushpoll_server.services.people.provider import Identity
from hushpoll_server.store import users as module
from hushpoll_server.store.schema import users
from waiting import LONGEST_SECONDS, wait_until

PASSWORD = "correct horse battery"
OTHER = PASSWORD[::-1]


def begin(people, password=PASSWORD):
    return people.sign_in.begin("ada", password, address=None)


def change(people):
    people.users.set_password("ada", OTHER)


def remove(people):
    people.users.remove("ada")


def remove_and_add(people):
    people.users.remove("ada")
    people.users.add("ada", OTHER, {})


ENDS = [change, remove, remove_and_add]


@pytest.fixture
def meanwhile(people, monkeypatch):
    """Do something after a sign-in's check and before what follows from it."""

    def do(act, of="begin_session"):
        store = people.sign_in._store
        call = getattr(store, of)

        def first(*arguments, **options):
            monkeypatch.setattr(store, of, call)
            act(people)
            return call(*arguments, **options)

        monkeypatch.setattr(store, of, first)

    return do


@pytest.mark.parametrize("end", ENDS)
def test_sign_in_under_way_outlives_no_end_of_sessions(site, people, meanwhile, end):
    """Guards: a thief's session that began after all sessions had ended."""
    people.users.add("ada", PASSWORD, {"work": "reader"})
    meanwhile(end)
    with pytest.raises(Refused) as caught:
        begin(people)
    assert caught.value.code == "unauthorized"
    assert site.scalars("SELECT count(*) FROM user_sessions") == [0]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("before", ["replace_password", "begin_session"])
def test_change_of_the_own_password_undoes_no_other(site, people, meanwhile, end, before):
    """Guards: a thief who changes the password in the moment in which an administrator does."""
    member = people.users.add("ada", PASSWORD, {})
    meanwhile(end, of=before)
    with pytest.raises(Refused) as caught:
        people.sign_in.change_password(member, PASSWORD, "of a thief, long", address=None)
    assert caught.value.code == "unauthorized"
    assert site.scalars("SELECT count(*) FROM user_sessions") == [0]
    assert people.users.verified("ada", "of a thief, long") is None


def test_better_hash_undoes_no_change_and_refuses_nobody(site, people, meanwhile):
    people.users.add("ada", PASSWORD, {})
    people.users._hasher = PasswordHasher(time_cost=2, memory_cost=8, parallelism=1)
    meanwhile(change, of="refresh_hash")
    with pytest.raises(Refused):
        begin(people)
    assert people.users.verified("ada", PASSWORD) is None
    assert begin(people, OTHER)
    # Two sign-ins at once, of which one has made the hash better.
    people.users._hasher = PasswordHasher(time_cost=1, memory_cost=16, parallelism=1)
    meanwhile(lambda people: begin(people, OTHER), of="refresh_hash")
    assert begin(people, OTHER)
    assert site.scalars("SELECT count(*) FROM user_sessions") == [3]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("bound", [False, True])
def test_sign_in_at_the_provider_outlives_no_end_either(site, people, meanwhile, end, bound):
    people.users.add("ada", None, {})
    account = Identity("https://login.example", "1", "ada")
    if bound:
        people.sign_in.begin_at_provider(lambda: account, address=None)
    meanwhile(end)
    with pytest.raises(Refused) as caught:
        people.sign_in.begin_at_provider(lambda: account, address=None)
    assert caught.value.code == "unauthorized"
    assert site.scalars("SELECT count(*) FROM user_sessions") == [0]


@pytest.mark.parametrize(
    ("before", "act"),
    [
        ("set_role", lambda people: people.users.set_role("ada", "work", "reader")),
        ("set_password", change),
        ("remove", remove),
    ],
)
def test_user_who_was_removed_meanwhile_is_named_and_is_no_error(people, meanwhile, before, act):
    """Guards: a role of a user who is gone was an error of the database."""
    people.users.add("ada", PASSWORD, {})
    meanwhile(remove, of=before)
    with pytest.raises(InvalidParameter, match="no user has it"):
        act(people)


@pytest.mark.postgresql
@pytest.mark.parametrize("end", [change, remove])
def test_session_waits_for_the_change_that_is_being_written(site, people, monkeypatch, end):
    """Guards: PostgreSQL shows a transaction nothing of another that has not ended."""
    people.users.add("ada", PASSWORD, {})
    row = people.users.verified("ada", PASSWORD)
    locked, go_on, call = threading.Event(), threading.Event(), module._locked

    def held(connection, user_id):
        found = call(connection, user_id)
        locked.set()
        assert go_on.wait(LONGEST_SECONDS)
        return found

    def is_waited_for():
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        return site.scalars(waits) != [0]

    with ThreadPoolExecutor(2) as pool:
        monkeypatch.setattr(module, "_locked", held)
        ending = pool.submit(end, people)
        assert locked.wait(LONGEST_SECONDS)
        monkeypatch.setattr(module, "_locked", call)
        beginning = pool.submit(people.sign_in._begin, row)
        wait_until(is_waited_for)
        go_on.set()
        ending.result(LONGEST_SECONDS)
        assert beginning.result(LONGEST_SECONDS) is None
    with site.services.database.reading() as connection:
        assert len(connection.execute(select(users.c.id)).all()) == (end is change)
    assert site.scalars("SELECT count(*) FROM user_sessions") == [0]
