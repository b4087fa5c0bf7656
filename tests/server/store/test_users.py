"""The tables of the people who sign in, on both databases."""

from __future__ import annotations

PASSWORD = "correct horse battery"


def test_users_and_sessions_are_kept_on_both_databases(make_site):
    site = make_site()
    users = site.services.users
    users.add("ada", PASSWORD, {"work": "reader", "*": "analyst"})
    _, secret = site.services.sign_in.begin("ada", PASSWORD, address=None)
    other = make_site().services
    assert other.sign_in.recognise(secret).member.roles == {"work": "reader", "*": "analyst"}
