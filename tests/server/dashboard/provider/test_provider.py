"""Signing in at a real OpenID Connect provider on loopback: who gets in, and who does not."""

from __future__ import annotations

import logging
import sys
import threading
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from urllib.parse import urlsplit

import pytest
import requests
from joserfc.jwk import ECKey, OctKey

from hushpoll_protocols.errors import InvalidParameter, MissingExtra
from hushpoll_server.config.settings import Settings
from hushpoll_server.errors import Refused
from hushpoll_server.services.people import provider as module
from hushpoll_server.services.people.provider import (
    WAITING_FOR_METADATA,
    Attempt,
    Identity,
    require_oidc,
)
from hushpoll_server.services.people.sign_in import (
    ADDRESS_FAILURES,
    ASKED_AT_ONCE,
    WAITING_TO_ASK,
)
from oidc_provider import CLIENT, SECRET, authorization, oidc_provider
from waiting import LONGEST_SECONDS

pytestmark = pytest.mark.sqlite
PASSWORD = "correct horse battery"
ADA = "ada@example.org"
WORK = "/dashboard/surveys/work/versions/1"


def asked_at_provider(visitor, next_page=None):
    """Follow the button to the provider; return the query with which it sends the browser back."""
    query = {} if next_page is None else {"next": next_page}
    there = visitor.get("/sign-in/provider", query_string=query)
    assert there.status_code == 303, there.text
    back = requests.get(there.headers["Location"], allow_redirects=False, timeout=LONGEST_SECONDS)
    assert back.status_code == 302, back.text
    address = urlsplit(back.headers["Location"])
    assert (address.netloc, address.path) == ("localhost", "/dashboard/sign-in/return")
    return authorization(address.query)


def sign_in(visitor, next_page=None, **changes):
    query = {**asked_at_provider(visitor, next_page), **changes}
    return visitor.get("/sign-in/return", query_string=query)


def lines(site):
    newest = site.services.actions.newest(200)[::-1]
    mine = [(line.actor, line.act) for line in newest if line.actor.startswith("user:")]
    return [line for line in mine if not line[1].startswith("looked")]


def test_user_signs_in_at_the_provider_and_out_here(site, provider, visit):
    site.publish()
    visitor = visit()
    page = visitor.get("/sign-in?next=" + WORK).text
    assert f'href="/dashboard/sign-in/provider?next={WORK}">Sign in with Example</a>' in page
    answer = sign_in(visitor, WORK)
    assert (answer.status_code, answer.headers["Location"]) == (303, WORK)
    assert visitor.client.get(WORK).status_code == 200
    account = visitor.get("/account").text
    assert "You have no password here" in account
    assert 'name="current"' not in account
    (asked,) = provider.asked
    assert asked["scope"] == "openid email"
    assert asked["code_challenge_method"] == "S256"
    assert lines(site) == [(f"user:{ADA}", "bound-to-provider"), (f"user:{ADA}", "signed-in")]
    assert visitor.send("/sign-out", "/account").status_code == 303
    assert visitor.get("/account").status_code == 303
    # The account is bound now; the second time it is only recognised.
    assert sign_in(visitor).status_code == 303
    assert lines(site)[-1] == (f"user:{ADA}", "signed-in")
    assert [act for _, act in lines(site)].count("bound-to-provider") == 1


def test_cookies_of_the_provider_s_way_are_kept_from_scripts_and_used_once(
    make_site, provider, clock, visit
):
    site = make_site(clock=clock, **provider.settings, BEHIND_TLS=True)
    there = visit(at=site).get("/sign-in/provider")
    (cookie,) = there.headers.getlist("Set-Cookie")
    for part in ("Secure", "HttpOnly", "SameSite=Lax", "Path=/dashboard", "Max-Age=600"):
        assert part in cookie
    query = authorization(urlsplit(there.headers["Location"]).query)
    assert query["redirect_uri"] == "https://localhost/dashboard/sign-in/return"
    assert cookie.partition("=")[2].partition(":")[0] not in there.headers["Location"]


def test_answer_counts_once_and_in_the_browser_that_asked_alone(site, visit):
    visitor, other = visit(), visit()
    query = asked_at_provider(visitor)
    assert other.get("/sign-in/return", query_string=query).status_code == 401
    asked_at_provider(other)
    assert other.get("/sign-in/return", query_string=query).status_code == 401
    assert visitor.get("/sign-in/return", query_string=query).status_code == 303
    again = visitor.get("/sign-in/return", query_string=query)
    assert again.status_code == 401
    assert "This answer is not one to a sign-in" in again.text


@pytest.mark.parametrize(
    "changes",
    [{"state": "x"}, {"state": ""}, {"iss": "https://other.example"}, {"code": "x"}, {"code": ""}],
)
def test_changed_answer_is_refused(site, visit, changes):
    visitor = visit()
    assert sign_in(visitor, **changes).status_code == 401
    assert visitor.get("/account").status_code == 303


@pytest.mark.parametrize(
    "changes",
    [
        {"nonce": "x"},
        {"nonce": None},
        {"aud": "another-client"},
        {"aud": ["another-client"], "azp": CLIENT},
        {"aud": [CLIENT, "another-client"], "azp": "another-client"},
        {"iss": "https://other.example"},
        {"exp": 1_700_000_000},
        {"exp": None},
        {"iat": 4_000_000_000},
        {"sub": ""},
        {"sub": "x" * 256},
        {"at_hash": "x"},
    ],
    ids=str,
)
def test_id_token_of_another_is_refused(site, provider, visit, changes):
    visitor = visit()
    provider.changes = changes
    answer = sign_in(visitor)
    assert answer.status_code == 401
    assert visitor.get("/account").status_code == 303
    assert lines(site) == []
    provider.changes = {}
    assert sign_in(visitor).status_code == 303


@pytest.mark.parametrize(
    ("header", "key"),
    [
        ({"alg": "ES256", "kid": "1"}, ECKey.generate_key("P-256")),
        ({"alg": "ES256", "kid": "2"}, ECKey.generate_key("P-256")),
        ({"alg": "HS256", "kid": "1"}, OctKey.import_key(SECRET)),
    ],
)
def test_id_token_that_the_provider_did_not_sign_is_refused(site, provider, visit, header, key):
    provider.header, provider.signing = header, key
    assert sign_in(visit()).status_code == 401


def test_account_of_nobody_is_refused_and_so_is_a_user_with_a_password(site, provider, visit):
    site.services.users.add("eve@example.org", PASSWORD, {"*": "admin"})
    visitor = visit()
    for name in ("nobody@example.org", "eve@example.org", "ADA@example.org", "", "a b", None):
        provider.sign_in(f"subject of {name}", name)
        answer = sign_in(visitor)
        assert answer.status_code == 401
        assert "no user of this server has your account there" in answer.text
    for verified in (False, None, "false"):
        provider.sign_in("subject-1", ADA, email_verified=verified)
        assert sign_in(visitor).status_code == 401
    assert lines(site) == []


def test_bound_account_stays_its_user_s_whatever_it_is_named(site, provider, visit):
    site.services.users.add("bob@example.org", None, {"*": "admin"})
    visitor = visit()
    assert sign_in(visitor).status_code == 303
    # The account takes the name of another user, who has not signed in yet.
    provider.sign_in("subject-1", "bob@example.org")
    assert sign_in(visitor).status_code == 303
    assert f"Account of <bdi>{ADA}</bdi>" in visitor.get("/account").text
    # Another account takes the name of a user who has.
    provider.sign_in("subject-2", ADA)
    assert sign_in(visit()).status_code == 401
    # Another provider gives the same subject to another person.
    assert site.scalars("SELECT subject FROM users WHERE issuer IS NOT NULL") == ["subject-1"]
    site.execute("UPDATE users SET issuer = 'https://former.example' WHERE subject = 'subject-1'")
    provider.sign_in("subject-1", ADA)
    assert sign_in(visit()).status_code == 401


def test_user_who_gets_a_password_signs_in_with_it_alone(site, visit):
    assert sign_in(visit()).status_code == 303
    assert visit().sign_in(ADA, "!provider").status_code == 401
    site.services.users.set_password(ADA, PASSWORD)
    assert sign_in(visit()).status_code == 401
    assert visit().sign_in(ADA).status_code == 303
    assert site.scalars("SELECT count(*) FROM users WHERE subject IS NOT NULL") == [0]


def test_claim_can_be_another_one_and_come_from_the_account_s_information(
    make_site, provider, clock, visit
):
    config = {**provider.settings, "OIDC_NAME_CLAIM": "preferred_username"}
    site = make_site(clock=clock, **config)
    site.services.users.add("ada", None, {})
    provider.about = {"sub": "subject-2", "preferred_username": "ada"}
    assert sign_in(visit(at=site)).status_code == 401
    provider.about["sub"] = "subject-1"
    assert sign_in(visit(at=site)).status_code == 303
    assert provider.asked[-1]["scope"] == "openid profile"


def test_provider_that_denies_is_told_on_the_page(site, provider, visit):
    provider.denies = True
    visitor = visit()
    answer = visitor.get("/sign-in/return", query_string=asked_at_provider(visitor))
    assert answer.status_code == 401
    assert "The provider did not sign you in" in answer.text


def test_provider_that_is_away_leaves_the_password(make_site, clock, visit):
    with oidc_provider(lambda: 0) as provider:
        config = provider.settings
    site = make_site(clock=clock, **config)
    visitor = visit("eve", at=site, work="reader")
    stranger = visit(at=site)
    answer = stranger.get("/sign-in/provider")
    assert answer.status_code == 503
    assert "The provider does not answer as it should" in answer.text
    assert answer.headers["Retry-After"]
    assert visitor.get("/account").status_code == 200
    assert stranger.sign_in("eve").status_code == 303


def test_provider_of_another_issuer_is_not_asked(site, provider, visit):
    provider.said_issuer = "https://other.example"
    assert visit().get("/sign-in/provider").status_code == 503
    assert provider.asked == []


@pytest.mark.parametrize("target", ["https://evil.example", "//evil.example", "/dashboard//evil"])
def test_way_back_leads_to_no_other_host(site, visit, target):
    assert sign_in(visit(), target).headers["Location"] == "/dashboard/"


def test_failures_lock_an_address_and_forged_returns_do_not(site, provider, visit):
    visitor = visit()
    far = {"REMOTE_ADDR": "203.0.113.9"}
    for _ in range(ADDRESS_FAILURES + 1):
        answer = visitor.get("/sign-in/return?state=x&code=x", environ_overrides=far)
        assert answer.status_code == 401
    provider.sign_in("subject-9", "nobody@example.org")
    for _ in range(ADDRESS_FAILURES):
        answer = visitor.get(
            "/sign-in/return", query_string=asked_at_provider(visitor), environ_overrides=far
        )
        assert answer.status_code == 401
    provider.sign_in("subject-1", ADA)
    query = asked_at_provider(visitor)
    answer = visitor.get("/sign-in/return", query_string=query, environ_overrides=far)
    assert answer.status_code == 429
    assert "too many failed sign-ins from this address" in answer.text


def test_log_says_why_and_holds_no_secret(site, provider, visit, caplog):
    with caplog.at_level(logging.DEBUG):
        assert sign_in(visit()).status_code == 303
        provider.changes = {"nonce": "x"}
        assert sign_in(visit()).status_code == 401
        assert sign_in(visit(), code="wrong-code").status_code == 401
    ours = [line.getMessage() for line in caplog.records if line.name.startswith("hushpoll")]
    assert sum('"provider-sign-in-refused"' in line for line in ours) == 2
    for secret in (SECRET, ADA, "subject-1", "wrong-code", *provider.tokens):
        assert secret not in "\n".join(ours)


def test_without_a_provider_there_is_neither_button_nor_way(make_site, visit):
    site = make_site()
    visitor = visit(at=site)
    assert "/sign-in/provider" not in visitor.get("/sign-in").text
    assert visitor.get("/sign-in/provider").status_code == 404
    assert visitor.get("/sign-in/return?state=x&code=x").status_code == 404


def test_admin_adds_a_user_without_a_password_on_the_page(site, visit):
    visitor = visit("root", every="admin")
    fields = {"name": "bob@example.org", "survey": "*", "role": "reader"}
    assert visitor.send("/people", "/people", password="", **fields).status_code == 303
    assert visitor.get("/people").text.count("without a password") == 2
    assert site.services.users.named("bob@example.org").provider


def test_missing_extra_is_named_where_a_provider_is_configured(monkeypatch):
    settings = Settings(oidc_issuer="https://login.example", oidc_client_id="x")
    require_oidc(settings)
    monkeypatch.setitem(sys.modules, "authlib", None)
    require_oidc(Settings())
    with pytest.raises(MissingExtra, match=r"pip install . './server\[oidc\]'"):
        require_oidc(settings)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"oidc_issuer": "https://login.example"}, "OIDC_CLIENT_ID is not"),
        ({"oidc_client_id": "x"}, "OIDC_ISSUER is not"),
        ({"oidc_issuer": "http://login.example", "oidc_client_id": "x"}, "https://HOST/PATH"),
        ({"oidc_issuer": "http://localhost:1@login.example", "oidc_client_id": "x"}, "HOST/PATH"),
    ],
)
def test_half_a_provider_is_refused(config, said):
    with pytest.raises(InvalidParameter, match=said):
        Settings(**config)


def first_and_others(pool, calls, go_on):
    """Call all at once, wait for the first that ends, and let the others go on; their codes."""

    def code_of(call):
        try:
            call()
        except Refused as refusal:
            return refusal.code
        return "ok"

    outcomes = [pool.submit(code_of, call) for call in calls]
    (first,) = wait(outcomes, LONGEST_SECONDS, FIRST_COMPLETED).done
    go_on.set()
    outcomes.remove(first)
    return first.result(), {outcome.result(LONGEST_SECONDS) for outcome in outcomes}


def test_only_so_many_wait_for_the_provider(site, provider):
    identity, go_on = Identity(provider.issuer, "subject-1", ADA), threading.Event()

    def asks():
        assert go_on.wait(LONGEST_SECONDS)
        return identity

    def sign_in():
        site.services.sign_in.begin_at_provider(asks, address=None)

    places = ASKED_AT_ONCE + WAITING_TO_ASK
    site.services.users.of_account(identity)  # bound before, so that no two do it at once
    with ThreadPoolExecutor(places + 1) as pool:
        outcomes = first_and_others(pool, [sign_in] * (places + 1), go_on)
    assert outcomes == ("unavailable", {"ok"})


def test_metadata_are_asked_for_once_however_many_come(site, provider, monkeypatch):
    """Guards: with a provider that is slow, each that came held a thread."""
    for name in ("ANSWER_SECONDS", "VISIT_SECONDS"):
        monkeypatch.setattr(module, name, LONGEST_SECONDS)
    provider.answers.clear()

    def go():
        site.services.provider.way(Attempt.new(), "http://localhost/dashboard/sign-in/return")

    many = WAITING_FOR_METADATA + 2
    with ThreadPoolExecutor(many) as pool:
        outcomes = first_and_others(pool, [go] * many, provider.answers)
    assert outcomes == ("unavailable", {"ok"})
    assert provider.paths.count("/.well-known/openid-configuration") == 1
