"""Signing in where the provider, or what answers in its place, is odd or hostile."""

from __future__ import annotations

import hmac
import json
import socket
import ssl
import threading
import time
from base64 import urlsafe_b64encode
from contextlib import suppress
from itertools import chain, repeat
from urllib.parse import urlsplit

import pytest
import requests
import trustme
from flask import Flask, request
from joserfc import jws
from joserfc.jwk import ECKey, RSAKey
from werkzeug.serving import make_server

from hushpoll_server.services.people import provider as module
from hushpoll_server.services.people.exchange import ANSWER_BYTES
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


class Raw:
    """A server that answers each request with pieces of a test's own, until its client leaves."""

    def __init__(self, pieces):
        self._pieces, self.sent = pieces, 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/"
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        # Wakes the thread where it still waits for a connection.
        socket.create_connection(self._listener.getsockname()[:2]).close()
        self._thread.join(LONGEST_SECONDS)
        self._listener.close()
        assert not self._thread.is_alive()

    def _run(self):
        client, _ = self._listener.accept()
        with client, suppress(OSError):
            if client.recv(65_536):
                for piece in self._pieces:
                    client.sendall(piece)
                    self.sent += len(piece)


def drips(text):
    """One byte after the other, and then the last one again and again."""
    for byte in chain(text, repeat(text[-1])):
        yield bytes([byte])
        time.sleep(0.02)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
DRIPPING = {
    "status": b"HTTP/1.1 200 OOO",
    "header": HEAD + b"X-Long: xxx",
    "body": HEAD + b'Content-Length: 100000\r\n\r\n{"access_token": "x',
    "chunks": HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1111",
}


def comes_back(visitor):
    """The query with which a visitor comes back from the provider."""
    there = visitor.get("/sign-in/provider").headers["Location"]
    back = requests.get(there, allow_redirects=False, timeout=LONGEST_SECONDS)
    return authorization(urlsplit(back.headers["Location"]).query)


ENDPOINTS = ["token_endpoint", "jwks_uri", "userinfo_endpoint"]


@pytest.mark.parametrize("part", DRIPPING)
@pytest.mark.parametrize("endpoint", ENDPOINTS[:2])
def test_provider_that_drips_is_left_by_the_deadline(
    site, provider, visit, monkeypatch, part, endpoint
):
    """Guards: a limit of each piece, under which a dripping answer took as long as it liked."""
    with Raw(drips(DRIPPING[part])) as raw:
        provider.metadata = {endpoint: raw.url}
        visitor = visit()
        query = comes_back(visitor)
        monkeypatch.setattr(module, "ANSWER_SECONDS", 0.5)
        answer = visitor.get("/sign-in/return", query_string=query)
    assert answer.status_code == 503
    assert "The provider does not answer as it should" in answer.text


def test_all_that_a_sign_in_asks_for_is_under_one_deadline(site, provider, visit, monkeypatch):
    visitor = visit()
    query = comes_back(visitor)
    monkeypatch.setattr(module, "VISIT_SECONDS", 0)
    assert visitor.get("/sign-in/return", query_string=query).status_code == 503


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_answer_without_an_end_is_left_at_its_limit(site, provider, visit, monkeypatch, endpoint):
    monkeypatch.setattr(module, "ANSWER_SECONDS", LONGEST_SECONDS)
    monkeypatch.setattr(module, "VISIT_SECONDS", LONGEST_SECONDS)
    provider.sign_in("subject-1", None)
    with Raw(chain([HEAD + b"\r\n"], repeat(b" " * 65_536))) as raw:
        provider.metadata = {endpoint: raw.url}
        answer = sign_in(visit())
    assert answer.status_code == 503
    # What the kernel holds on its way is sent, too.
    assert ANSWER_BYTES < raw.sent < 64 * 2**20


NESTED = b"[" * 200_000 + b"]" * 200_000
ODD = {
    "nested": NESTED,
    "a nested member": b'{"sub": "subject-1", "x": ' + NESTED + b"}",
    "a list": b"[]",
    "a list of lists": b"[[[]]]",
    "a number": b"1",
    "a text": b'"text"',
    "null": b"null",
    "nothing": b"",
    "no JSON": b"{",
    "no UTF-8": b'{"sub": "\xff"}',
    "other types": b'{"sub": 1, "keys": 1, "access_token": [], "id_token": {}, "expires_in": "x"}',
    "lists of other types": b'{"sub": ["x"], "keys": [[1], null], "id_token": [1]}',
    "infinity": b'{"access_token": "x", "id_token": "x", "expires_in": 1e999, "expires_at": 1e999}',
    "an error of another type": b'{"error": [1], "error_description": {"x": 1}}',
}


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/token", "/keys", "/about"])
@pytest.mark.parametrize("body", ODD.values(), ids=ODD)
def test_odd_answer_is_the_provider_s_fault_and_no_error_of_ours(
    site, provider, visit, caplog, path, body
):
    """Guards: nested JSON was an error of status 500."""
    provider.sign_in("subject-1", None)  # so that it is asked about the account
    provider.bodies[path] = body
    answer = sign_in(visit())
    assert answer.status_code in (401, 503)
    assert "internal-error" not in caplog.text
    assert site.scalars("SELECT count(*) FROM user_sessions") == [0]


def test_nested_claims_of_an_id_token_are_refused(site, provider, visit):
    def forged(claims):
        content = json.dumps(claims)[:-1].encode() + b', "x": ' + NESTED + b"}"
        return jws.serialize_compact(provider.header, content, provider.key)

    provider.forged = forged
    assert sign_in(visit()).status_code in (401, 503)


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:1/\r\nX: y",
        "http://[",
        "http://127.0.0.1:1/" + "x" * 5000,
        "http://\xe9/",
        1,
    ],
    ids=["two lines", "no host", "long", "no ASCII", "a number"],
)
@pytest.mark.parametrize("endpoint", ["authorization_endpoint", *ENDPOINTS])
def test_odd_address_in_the_metadata_is_the_provider_s_fault(
    site, provider, visit, caplog, endpoint, address
):
    provider.sign_in("subject-1", None)
    provider.metadata = {endpoint: address}
    assert sign_in(visit()).status_code in (401, 503)
    assert "internal-error" not in caplog.text


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
