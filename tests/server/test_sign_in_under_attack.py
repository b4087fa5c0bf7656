"""People who sign in at a real server, beside clients that guess and clients that have guessed."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count

import pytest
import requests

from served import Process
from waiting import LONGEST_SECONDS, wait_until

PASSWORD = "correct horse battery"
TOKEN = re.compile(r'name="form_token" value="([^"]*)"')
GUESSERS = 10


# Closed at the end: a socket that is only forgotten warns in whatever test runs then.
SESSIONS = ExitStack()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Process(tmp_path_factory.mktemp("server")) as running, SESSIONS:
        yield running


class Browser:
    """A connection that signs in again and again by one form."""

    def __init__(self, server):
        self._session = SESSIONS.enter_context(requests.Session())
        self._at = f"{server.url}/dashboard"
        self._token = TOKEN.search(self._get("/sign-in").text)[1]

    def _get(self, path):
        answer = self._session.get(self._at + path, allow_redirects=False, timeout=LONGEST_SECONDS)
        assert answer.status_code in (200, 303)
        return answer

    def sign_in(self, name, password):
        form = {"form_token": self._token, "name": name, "password": password}
        return self._session.post(
            f"{self._at}/sign-in", data=form, allow_redirects=False, timeout=LONGEST_SECONDS
        ).status_code

    def is_signed_in(self):
        return self._get("/account").status_code == 200


class Attack:
    """Threads that sign in until they are stopped; `names` are tried one after the other."""

    def __init__(self, server, threads, names, password):
        self.statuses, self._names, self._password = [], names, password
        self.browsers = [Browser(server) for _ in range(threads)]
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(one,)) for one in self.browsers]

    def _run(self, browser):
        while not self._stop.is_set():
            self.statuses.append(browser.sign_in(next(self._names), self._password))

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join(LONGEST_SECONDS)
            assert not thread.is_alive()


class Names:
    """The same name again and again, or always another one; for many threads."""

    def __init__(self, name, *, numbered):
        self._name, self._numbers, self._lock = (
            name,
            count() if numbered else None,
            threading.Lock(),
        )

    def __next__(self):
        with self._lock:
            return self._name if self._numbers is None else f"{self._name}{next(self._numbers)}"


def add(server, name):
    server.post("/api/v1/users", {"name": name, "password": PASSWORD, "roles": {"*": "reader"}})


def change_password(server, user):
    requests.put(
        f"{user}/password",
        json={"password": PASSWORD[::-1]},
        headers=server.admin,
        timeout=LONGEST_SECONDS,
    ).raise_for_status()


def remove(server, user):
    requests.delete(user, headers=server.admin, timeout=LONGEST_SECONDS).raise_for_status()


@pytest.mark.parametrize("end", [change_password, remove])
def test_no_session_of_a_thief_outlives_the_end_of_sessions(server, end):
    """Guards: a sign-in that was being checked began its session after all had ended."""
    name = f"ada-{end.__name__.replace('_', '-')}"
    add(server, name)
    attack = Attack(server, 3, Names(name, numbered=False), PASSWORD)
    with attack:
        wait_until(lambda: attack.statuses.count(303) >= 3)
        end(server, f"{server.url}/api/v1/users/{name}")
    # Every thread has had its answer, so nothing is under way any more.
    assert [browser.is_signed_in() for browser in attack.browsers] == [False] * 3
    assert set(attack.statuses) <= {303, 401, 429}
    assert "internal-error" not in server.log


def test_people_sign_in_while_others_guess(server):
    """Guards: six places were filled by ten connections, and nobody else could sign in."""
    add(server, "bob")
    honest = Browser(server)
    with Attack(server, GUESSERS, Names("guess", numbered=True), "a wrong password") as attack:
        wait_until(lambda: len(attack.statuses) >= GUESSERS)
        assert [honest.sign_in("bob", PASSWORD) for _ in range(4)] == [303] * 4
        with ThreadPoolExecutor(4) as pool:
            browsers = [Browser(server) for _ in range(4)]
            statuses = pool.map(lambda browser: browser.sign_in("bob", PASSWORD), browsers)
            assert list(statuses) == [303] * 4
    assert honest.is_signed_in()
    assert set(attack.statuses) == {401}
