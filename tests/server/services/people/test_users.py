"""Users: added, refused by field, their passwords hashed, and what a role lets them do."""

from __future__ import annotations

import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.errors import Refused
from hushpoll_server.services.people.roles import Role

pytestmark = pytest.mark.sqlite


PASSWORD = "correct horse battery"


def begin(people, name="ada", password=PASSWORD, address=None):
    return people.sign_in.begin(name, password, address=address)


def refused(call, *arguments, **options):
    with pytest.raises(Refused) as caught:
        call(*arguments, **options)
    return caught.value.code


def test_password_is_stored_as_an_argon2id_hash(site):
    site.services.users.add("ada", PASSWORD, {})
    (stored,) = site.scalars("SELECT password FROM users")
    assert stored.startswith("$argon2id$")
    assert site.services.users.verified("ada", PASSWORD).name == "ada"
    assert site.services.users.verified("ada", PASSWORD + "!") is None


@pytest.mark.parametrize(
    ("name", "password", "roles", "field"),
    [
        ("", PASSWORD, {}, "name"),
        ("-x", PASSWORD, {}, "name"),
        ("a\u202eb", PASSWORD, {}, "name"),
        ("ada", "eleven char", {}, "password"),
        ("ada", "x" * 1025, {}, "password"),
        ("ada", PASSWORD, {"work": "owner"}, "role"),
        ("ada", PASSWORD, {"Work!": "reader"}, "survey"),
    ],
)
def test_user_of_another_form_is_refused_by_field(people, name, password, roles, field):
    with pytest.raises(InvalidParameter) as caught:
        people.users.add(name, password, roles)
    assert caught.value.field == field
    assert people.users.all() == []


def test_short_password_is_refused_with_the_length_that_is_wanted(people):
    with pytest.raises(InvalidParameter, match="give at least 12 characters"):
        people.users.add("ada", "eleven char", {})


def test_name_is_given_once(people):
    people.users.add("ada", PASSWORD, {})
    with pytest.raises(InvalidParameter, match="which a user has"):
        people.users.add("ada", PASSWORD, {})


def test_user_without_a_role_learns_of_no_survey(people):
    member = people.users.add("ada", PASSWORD, {"work": "reader"})
    assert refused(member.require, "other", Role.READER) == "unknown-survey"
    assert refused(member.require, "work", Role.ADMIN) == "forbidden"
