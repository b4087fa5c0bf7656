"""Whose session a request is in: cookies that are changed, foreign, ended or over."""

from __future__ import annotations

import pytest
from werkzeug.http import parse_cookie

from hushpoll_server import create_app
from hushpoll_server.dashboard.frame import COOKIE, REMEMBER_COOKIE
from hushpoll_server.services.people.sign_in import SESSION_SECONDS

pytestmark = pytest.mark.sqlite
PASSWORD = "correct horse battery"


@pytest.fixture
def ada(visit):
    return visit("ada", every="admin")


def secret_of(visitor):
    return visitor.client.get_cookie(COOKIE, path="/dashboard").value


def carry(visitor, value, name=COOKIE):
    visitor.client.set_cookie(name, value, path="/dashboard")
    return visitor


def sessions(site, name="ada"):
    return site.services.sign_in.sessions(site.services.users.named(name))


def test_cookie_carries_256_random_bits_and_the_database_their_hash_alone(site, ada):
    secret = secret_of(ada)
    assert len(secret) == 43
    assert site.scalars("SELECT length(hash) FROM user_sessions") == [32]
    assert secret not in str(site.scalars("SELECT hash FROM user_sessions"))


def test_changed_cookie_is_nobody_s(ada, visit):
    secret = secret_of(ada)
    last = "A" if secret[-1] != "A" else "B"
    changed = [secret[:-1] + last, secret + "A", secret[:-1], secret.swapcase()]
    for value in (*changed, "", "\xff\u2028", "x" * 4000):
        assert carry(visit(), value).get("/account").status_code == 303, value
    assert ada.get("/account").status_code == 200


def test_cookie_holds_neither_the_session_s_id_nor_its_hash(site, ada, visit):
    (session,) = sessions(site)
    stored = site.scalars("SELECT hash FROM user_sessions")[0].hex()
    for value in (session.id, stored, "ada", session.user_id):
        assert carry(visit(), value).get("/account").status_code == 303


def test_cookie_of_another_server_is_nobody_s(ada, make_site, visit, tmp_path):
    other = make_site(DATABASE_URL=f"sqlite:///{tmp_path / 'other.sqlite'}")
    other.services.users.add("ada", PASSWORD, {"*": "admin"})
    assert carry(visit(at=other), secret_of(ada)).get("/account").status_code == 303


def test_session_that_ends_elsewhere_is_refused_at_the_next_request(site, ada, visit):
    page = ada.get("/people").text
    token = page.partition('name="form_token" value="')[2].partition('"')[0]
    (session,) = sessions(site)
    assert site.services.sign_in.end(site.services.users.named("ada"), session.id)
    answer = ada.get("/people")
    assert answer.status_code == 303
    assert answer.headers["Location"] == "/dashboard/sign-in?next=%2Fdashboard%2Fpeople"
    form = {"form_token": token, "name": "eve", "password": PASSWORD, "survey": "*"}
    refused = ada.client.post("/dashboard/people", data={**form, "role": "admin"})
    assert refused.status_code == 303
    assert refused.headers["Location"] == "/dashboard/sign-in"
    assert [user.name for user in site.services.users.all()] == ["ada"]


def test_session_is_over_after_twelve_hours(site, ada):
    site.clock.advance(SESSION_SECONDS - 1)
    assert ada.get("/account").status_code == 200
    site.clock.advance(1)
    assert ada.get("/account").status_code == 303


def test_signing_in_again_ends_the_session_that_the_browser_had(site, ada, visit):
    """The form stood in a second tab."""
    form = form_of(tab := visit())
    assert tab.sign_in("ada").status_code == 303
    before = secret_of(tab)
    listed = {row.id for row in sessions(site)}
    answer = tab.client.post("/dashboard/sign-in", data=form)
    assert answer.status_code == 303
    assert tab.get("/account").status_code == 200
    assert carry(visit(), before).get("/account").status_code == 303
    # That of the other browser goes on.
    assert ada.get("/account").status_code == 200
    assert len(sessions(site)) == 2
    assert len(listed & {row.id for row in sessions(site)}) == 1


def test_session_that_was_planted_is_not_taken_over(site, ada, visit):
    """Guards: a browser that keeps the secret it was given before signing in."""
    site.services.users.add("eve", PASSWORD, {})
    form = {**form_of(eve := visit()), "name": "eve"}
    planted = secret_of(ada)
    carry(eve, planted)
    assert eve.client.post("/dashboard/sign-in", data=form).status_code == 303
    assert secret_of(eve) != planted
    assert "Account of <bdi>eve</bdi>" in eve.get("/account").text


def test_cookies_of_other_programs_on_the_host_change_nothing(ada, visit):
    """Guards: a cookie by which another program with Flask-Login remembers was an error here."""
    assert REMEMBER_COOKIE not in parse_cookie(f"{REMEMBER_COOKIE}=x; a=b")
    for name in ("remember_token", "session"):
        for value in ("1|x", "1|\xff", "x", ""):
            for visitor, status in ((ada, 200), (visit(), 303)):
                visitor.client.set_cookie(name, value)
                answer = visitor.get("/account")
                assert answer.status_code == status, (name, value)
                assert "Set-Cookie" not in answer.headers
                visitor.client.delete_cookie(name)


def form_of(visitor):
    page = visitor.get("/sign-in").text
    token = page.partition('name="form_token" value="')[2].partition('"')[0]
    return {"form_token": token, "name": "ada", "password": PASSWORD}


def test_api_and_public_pages_know_no_session(site, ada):
    site.publish()
    client = site.client()
    client.set_cookie(COOKIE, secret_of(ada))
    statuses = {"/s/work": 200, "/docs": 200, "/api/v1/users": 401}
    for path, status in statuses.items():
        answer = client.get(path)
        assert answer.status_code == status
        assert "Set-Cookie" not in answer.headers
        assert "Cookie" not in answer.headers.get("Vary", "")
    assert client.get("/dashboard/account").status_code == 200


def test_cookies_of_an_application_behind_https_are_secure(site):
    """The application alone, in a server that tells it the scheme."""
    app = create_app({"DATABASE_URL": site.services.settings.database_url})
    try:
        for scheme, secure in (("https", True), ("http", False)):
            answer = app.test_client().get("/dashboard/sign-in", base_url=f"{scheme}://localhost")
            (cookie,) = answer.headers.getlist("Set-Cookie")
            assert ("Secure" in cookie) == secure
    finally:
        app.extensions["hushpoll"].stop()


def test_fault_of_the_database_is_told_on_a_page(site, ada, visit):
    site.execute("ALTER TABLE user_sessions RENAME TO away")
    try:
        answers = [ada.get("/account"), ada.get("/sign-in"), ada.client.post("/dashboard/people")]
    finally:
        site.execute("ALTER TABLE away RENAME TO user_sessions")
    for answer in answers:
        assert answer.status_code == 503
        assert "<h1>The server is busy</h1>" in answer.text
    assert ada.get("/account").status_code == 200
