"""The roles of users: each includes the lower ones."""

from __future__ import annotations

import pytest

from hushpoll_server.services.people.roles import Role

pytestmark = pytest.mark.sqlite
PASSWORD = "correct horse battery"


@pytest.mark.parametrize(
    ("held", "allowed"),
    [
        ("reader", ["reader"]),
        ("analyst", ["reader", "analyst"]),
        ("editor", ["reader", "analyst", "editor"]),
        ("admin", ["reader", "analyst", "editor", "admin"]),
    ],
)
@pytest.mark.parametrize("survey", ["work", "*"])
def test_role_includes_the_lower_ones(people, held, allowed, survey):
    member = people.users.add("ada", PASSWORD, {survey: held})
    assert [role for role in Role if member.may("work", role)] == allowed
    assert member.may("other", Role.READER) == (survey == "*")
    assert member.administers == ((survey, held) == ("*", "admin"))
