"""The tables of the people who sign in, on both databases."""

from __future__ import annotations

from hushpoll_server.services.people.provider import Identity

PASSWORD = "correct horse battery"


def test_users_and_sessions_are_kept_on_both_databases(make_site):
    site = make_site()
    users = site.services.users
    users.add("ada", PASSWORD, {"work": "reader", "*": "analyst"})
    _, secret = site.services.sign_in.begin("ada", PASSWORD, address=None)
    other = make_site().services
    assert other.sign_in.recognise(secret).member.roles == {"work": "reader", "*": "analyst"}


def test_account_of_a_provider_is_bound_to_one_user_once_on_both_databases(make_site):
    users = make_site().services.users
    for name in ("ada", "bob"):
        users.add(name, None, {})
    users.add("eve", PASSWORD, {})
    first, second = ("https://login.example", "1"), ("https://login.example", "2")
    other = ("https://other.example", "1")

    def user(account, name):
        match = users.of_account(Identity(*account, name))
        return None if match is None else (match[0].name, match[1])

    assert user(first, "eve") is None
    assert user(first, None) is None
    assert user(first, "ada") == ("ada", True)
    assert user(first, "bob") == ("ada", False)
    assert user(second, "ada") is None
    assert user(other, "ada") is None
    assert user(other, "bob") == ("bob", True)
    users.remove("ada")
    assert user(first, "ada") is None
    users.add("ada", None, {})
    assert user(second, "ada") == ("ada", True)
