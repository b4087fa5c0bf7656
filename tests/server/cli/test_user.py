"""``hushpoll user``: people are added, listed, given roles and passwords, and removed."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from hushpoll_server.cli import user
from hushpoll_server.config.configuration import load
from hushpoll_server.services.people.users import Users
from hushpoll_server.services.services import Services
from hushpoll_server.store.database import Database
from hushpoll_server.store.users import ActionStore, UserStore
from hushpoll_shared.spelling.clock import SystemClock
from sample_survey import make_draft


@pytest.fixture
def work(new_database_url):
    """The name of a survey that the server has."""
    services = Services(load(flags={"database_url": new_database_url}, environment={}).settings)
    services.surveys.publish(make_draft())
    services.stop()
    return "work"


@pytest.fixture
def run(new_database_url, tmp_path):
    (tmp_path / "password").write_text("correct horse battery\n")

    def run(command, *arguments, given=None):
        done = CliRunner().invoke(
            command, ["--database-url", new_database_url, *arguments], input=given
        )
        return done.exit_code, done.output

    return run


def test_user_is_added_given_a_role_listed_and_removed(run, new_database_url, tmp_path, work):
    file = ("--password-file", str(tmp_path / "password"))
    assert run(user.add, "ada", "--role", "work=reader", *file) == (0, "ada  work=reader\n")
    assert run(user.add, "bob", *file) == (0, "bob  no role yet\n")
    assert run(user.role, "bob", "*", "admin") == (0, "bob  *=admin\n")
    assert run(user.role, "ada", "work", "none") == (0, "ada  no role yet\n")
    assert run(user.list_users) == (0, "ada  no role yet\nbob  *=admin\n")
    assert run(user.password, "bob", *file) == (0, "bob has another password\n")
    assert run(user.remove, "ada") == (0, "ada is removed\n")
    assert run(user.list_users) == (0, "bob  *=admin\n")
    database = Database(new_database_url, pool_size=1)
    lines = [(line.act, line.subject) for line in ActionStore(database).newest(10)]
    assert [row.name for row in UserStore(database).all()] == ["bob"]
    database.close()
    assert lines[::-1] == [
        ("added-user", "ada"),
        ("added-user", "bob"),
        ("gave-role-admin", "bob"),
        ("gave-role-none", "ada"),
        ("changed-password", "bob"),
        ("removed-user", "ada"),
    ]


@pytest.mark.sqlite
def test_user_of_the_provider_has_no_password_until_given_one(run, tmp_path):
    file = ("--password-file", str(tmp_path / "password"))
    line = "ada@example.org  *=admin  (signs in at the provider)\n"
    assert run(user.add, "ada@example.org", "--role", "*=admin", "--oidc") == (0, line)
    assert run(user.list_users) == (0, line)
    code, output = run(user.add, "bob", "--oidc", *file)
    assert (code, "leave one out" in output) == (1, True), output
    assert run(user.password, "ada@example.org", *file)[0] == 0
    assert run(user.list_users) == (0, "ada@example.org  *=admin\n")


@pytest.mark.sqlite
def test_password_is_asked_for_twice(run):
    typed = "correct horse battery\n"
    assert run(user.add, "ada", given=typed * 2)[0] == 0
    code, output = run(user.add, "bob", given=f"{typed}another one\n")
    assert code == 1
    assert "correct horse" not in output


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ada", "--role", "reader"], "write SURVEY=ROLE"),
        (["ada", "--role", "work=owner"], "give one of reader"),
        (["a b"], "give 1 to 64 letters"),
    ],
)
def test_wrong_form_is_refused_with_its_remedy(run, tmp_path, arguments, said):
    code, output = run(user.add, *arguments, "--password-file", str(tmp_path / "password"))
    assert (code, said in output) == (1, True), output


@pytest.mark.sqlite
def test_mark_and_end_of_a_password_file_are_no_part_of_it(run, new_database_url, tmp_path):
    path = tmp_path / "marked"
    path.write_bytes(b"\xef\xbb\xbfcorrect horse battery\r\n")
    assert run(user.add, "ada", "--password-file", str(path))[0] == 0
    database = Database(new_database_url, pool_size=1)
    users = Users(UserStore(database), SystemClock())
    assert users.verified("ada", "correct horse battery") is not None
    database.close()
    path.write_bytes("correct horse battery\n".encode("utf-16"))
    code, output = run(user.password, "ada", "--password-file", str(path))
    assert (code, "but text in UTF-16" in output) == (1, True), output


@pytest.mark.sqlite
def test_role_in_a_survey_that_is_not_there_is_refused_with_those_that_are(run, tmp_path, work):
    file = ("--password-file", str(tmp_path / "password"))
    code, output = run(user.add, "ada", "--role", "nosuch=reader", *file)
    assert (code, "no such survey; its surveys are: work." in output) == (1, True), output
    assert run(user.list_users) == (0, "There is no user yet.\n")
    assert run(user.add, "ada", *file)[0] == 0
    code, output = run(user.role, "ada", "nosuch", "reader")
    assert (code, "its surveys are: work." in output) == (1, True), output
    # Taking a role away needs no survey: it may be gone.
    assert run(user.role, "ada", "nosuch", "none") == (0, "ada  no role yet\n")


@pytest.mark.sqlite
@pytest.mark.parametrize("command", [user.remove, user.password])
def test_unknown_user_is_refused(run, command):
    code, output = run(command, "nobody")
    assert (code, "no user has it" in output) == (1, True)
