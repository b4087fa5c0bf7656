"""Signing in where the provider, or what answers in its place, is odd or hostile."""

from __future__ import annotations

import hmac
import json
import ssl
import threading
from base64 import urlsafe_b64encode
from urllib.parse import urlsplit

import pytest
import requests
import trustme
from flask import Flask, request
from joserfc import jws
from joserfc.jwk import ECKey, RSAKey
from werkzeug.serving import make_server

from hushpoll_server.services.people import provider as module
from oidc_provider import SECRET, authorization, oidc_provider
from waiting import LONGEST_SECONDS

pytestmark = pytest.mark.sqlite
ADA = "ada@example.org"
STRANGER = ECKey.generate_key("P-256", {"kid": "1"})


def sign_in(visitor):
    there = visitor.get("/sign-in/provider")
    if there.status_code != 303:
        return there
    back = requests.get(there.headers["Location"], allow_redirects=False, timeout=LONGEST_SECONDS)
    query = authorization(urlsplit(back.headers["Location"]).query)
    return visitor.get("/sign-in/return", query_string=query)


def encoded(document):
    return base64url(json.dumps(document).encode())


def base64url(data):
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def signed_by_secret(claims, secret):
    content = f"{encoded({'alg': 'HS256', 'kid': '1'})}.{encoded(claims)}"
    return f"{content}.{base64url(hmac.digest(secret, content.encode(), 'sha256'))}"


def test_id_token_without_a_signature_of_a_private_key_is_refused(site, provider, visit):
    public = provider.key.as_pem(private=False)
    for forged in (
        lambda claims: f"{encoded({'alg': 'none'})}.{encoded(claims)}.",
        lambda claims: f"{encoded({'alg': 'none', 'kid': '1'})}.{encoded(claims)}.",
        lambda claims: f"{encoded({'alg': 'ES256', 'kid': '1'})}.{encoded(claims)}.",
        lambda claims: signed_by_secret(claims, public),
        lambda claims: jws.serialize_compact(
            {"alg": "ES256", "kid": "1", "jwk": STRANGER.as_dict(private=False)},
            json.dumps(claims),
            STRANGER,
        ),
    ):
        provider.forged = forged
        assert sign_in(visit()).status_code == 401
    provider.forged = None
    assert sign_in(visit()).status_code == 303


def test_subject_that_is_no_text_is_refused(site, provider, visit):
    """Guards: half a character was an error of the database and a page of status 500."""
    provider.forged = lambda claims: jws.serialize_compact(
        provider.header, json.dumps(claims), provider.key
    )
    for subject in ("\ud800", "a\0b", "a\nb", ["subject-1"], {"subject-1": 1}, 1):
        provider.changes = {"sub": subject}
        assert sign_in(visit()).status_code == 401, subject
    assert site.scalars("SELECT count(*) FROM users WHERE subject IS NOT NULL") == [0]


def test_address_is_vouched_for_by_true_alone(site, provider, visit):
    for verified in (1, 1.0, "1", "yes", [True], {}):
        provider.sign_in("subject-1", ADA, email_verified=verified)
        assert sign_in(visit()).status_code == 401, verified
    provider.sign_in("subject-1", ADA, email_verified="true")
    assert sign_in(visit()).status_code == 303


def test_keys_of_other_kinds_beside_the_provider_s_are_left_out(site, provider, visit):
    """Guards: one key on a curve that is not known here kept everybody out."""
    provider.further_keys = [
        {"kty": "EC", "crv": "P-999", "x": "AA", "y": "AA", "kid": "2"},
        {"kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": "3"},
        {"kty": "OKP", "crv": "new", "x": "AA", "kid": "4"},
        {"kty": ["EC"], "kid": "5"},
        {"kty": "AKP", "alg": "ML-DSA-44", "pub": "AA", "kid": "6"},
        {"kty": "oct", "k": encoded(SECRET), "kid": "1"},
        RSAKey.generate_key(2048, {"kid": "7", "use": "enc"}).as_dict(private=False),
        "no key",
    ]
    assert sign_in(visit()).status_code == 303


def test_code_and_secret_follow_no_redirect(site, provider, visit):
    heard, app = [], Flask("elsewhere")

    @app.route("/", methods=["GET", "POST"])
    def hear():
        heard.append(dict(request.form))
        return "{}"

    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    provider.moved = f"http://127.0.0.1:{server.port}/"
    try:
        answer = sign_in(visit())
    finally:
        server.shutdown()
        thread.join(LONGEST_SECONDS)
        server.server_close()
    assert answer.status_code in (401, 503)
    assert heard == []


def test_provider_that_does_not_answer_holds_nobody_for_long(site, provider, visit, monkeypatch):
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.2)
    visitor = visit()
    query = visitor.get("/sign-in/provider").headers["Location"]
    back = requests.get(query, allow_redirects=False, timeout=LONGEST_SECONDS)
    provider.answers.clear()
    query = authorization(urlsplit(back.headers["Location"]).query)
    answer = visitor.get("/sign-in/return", query_string=query)
    assert answer.status_code == 503
    assert "The provider does not answer as it should" in answer.text


def test_certificate_of_a_stranger_is_refused(site, make_site, clock, visit, monkeypatch, tmp_path):
    ours, strangers = trustme.CA(), trustme.CA()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ours.issue_cert("127.0.0.1").configure_cert(tls)
    with oidc_provider(lambda: int(clock.now().timestamp()), tls) as provider:
        provider.sign_in("subject-1", ADA)
        other = make_site(clock=clock, **provider.settings)
        for authority, status in ((strangers, 503), (ours, 303)):
            authority.cert_pem.write_to_path(tmp_path / "ca.pem")
            monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "ca.pem"))
            assert sign_in(visit(at=other)).status_code == status
            assert bool(provider.asked) == (status == 303)
