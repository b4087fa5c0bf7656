"""Users, their roles and the action log over HTTP."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.sqlite
PASSWORD = "correct horse battery"
USERS = "/api/v1/users"


def added(site, name="ada", **roles):
    return site.post(USERS, json={"name": name, "password": PASSWORD, "roles": roles})


def test_user_is_added_listed_given_a_role_and_removed(site):
    site.publish()
    answer = added(site, work="reader")
    assert (answer.status_code, answer.json) == (
        201,
        {"name": "ada", "provider": False, "roles": {"work": "reader"}},
    )
    assert site.get(USERS).json == {"users": [answer.json]}
    given = site.put(f"{USERS}/ada/roles/*", json={"role": "admin"})
    assert given.json["roles"] == {"work": "reader", "*": "admin"}
    taken = site.delete(f"{USERS}/ada/roles/work")
    assert taken.json["roles"] == {"*": "admin"}
    assert site.delete(f"{USERS}/ada").status_code == 204
    assert site.get(USERS).json == {"users": []}
    acts = [line["act"] for line in site.get("/api/v1/actions").json["actions"]]
    assert acts[:4] == ["removed-user", "gave-role-none", "gave-role-admin", "added-user"]


def test_user_of_the_provider_is_added_without_a_password(site):
    answer = site.post(USERS, json={"name": "ada@example.org", "provider": True})
    assert answer.status_code == 201
    assert answer.json == {"name": "ada@example.org", "provider": True, "roles": {}}
    assert site.get(USERS).json == {"users": [answer.json]}


def test_password_is_set_and_ends_every_session(site):
    added(site)
    parts = site.services
    _, secret = parts.sign_in.begin("ada", PASSWORD, address=None)
    answer = site.put(f"{USERS}/ada/password", json={"password": "another long one"})
    assert answer.status_code == 204
    assert parts.sign_in.recognise(secret) is None
    assert parts.users.verified("ada", "another long one") is not None


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "-x", "password": PASSWORD}, "name"),
        ({"name": "ada", "password": "short"}, "password"),
        ({"name": "ada", "password": PASSWORD, "roles": {"*": "king"}}, "role"),
        ({"name": "ada", "password": PASSWORD, "roles": {"nowhere": "reader"}}, "survey"),
        ({"name": "ada"}, "password"),
        ({"name": "ada", "password": PASSWORD, "provider": True}, "password"),
    ],
)
def test_bad_user_is_refused_by_field(site, body, field):
    answer = site.post(USERS, json=body)
    assert answer.status_code == 422
    assert answer.json["field"] == field
    assert "short" not in answer.text
    assert site.get(USERS).json == {"users": []}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("delete", "/nobody", None),
        ("put", "/nobody/password", {"password": PASSWORD}),
        ("put", "/nobody/roles/*", {"role": "reader"}),
        ("delete", "/nobody/roles/*", None),
    ],
)
def test_unknown_user_is_not_found(site, method, path, body):
    answer = getattr(site, method)(USERS + path, **({} if body is None else {"json": body}))
    assert (answer.status_code, answer.json["code"]) == (404, "not-found")
    assert "no user has it" in answer.json["detail"]


def test_token_of_some_surveys_manages_no_users_of_these_names(site):
    site.publish()
    added(site, name="work")
    token = site.services.access.issue(["admin"], surveys=["work"]).token
    headers = {"Authorization": f"Bearer {token}"}
    for answer in (
        site.get(USERS, headers=headers),
        site.delete(f"{USERS}/work", headers=headers),
        site.put(f"{USERS}/work/password", json={"password": PASSWORD}, headers=headers),
    ):
        assert answer.status_code == 403
    assert [user["name"] for user in site.get(USERS).json["users"]] == ["work"]


def test_lines_of_one_survey_are_listed_alone(site):
    site.publish()
    site.publish(name="home")
    added(site)
    site.put(f"{USERS}/ada/roles/home", json={"role": "reader"})
    # which PostgreSQL takes in no text
    assert site.problem(site.get("/api/v1/actions?survey=%00"))[2] == "survey"
    lines = site.get("/api/v1/actions?survey=home&limit=5").json["actions"]
    assert lines[0]["act"] == "gave-role-reader"
    assert lines[0]["words"] == "gave the role reader"
    assert {line["survey"] for line in lines} == {"home"}
