"""A small OpenID Connect provider on loopback: real keys, real HTTP, and faults on demand."""

from __future__ import annotations

import secrets
import threading
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from ssl import SSLContext
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode

from flask import Flask, Response, jsonify, redirect, request
from joserfc import jwt
from joserfc.jwk import ECKey
from werkzeug.serving import make_server

from waiting import LONGEST_SECONDS

CLIENT = "hushpoll-tests"
SECRET = "client-secret-of-tests"


@dataclass
class OpenIdProvider:
    """What the provider says of the one account that is signed in there.

    `claims` are changed by tests; `forged` makes an ID token of claims in its own way. The token
    endpoint redirects each request to `moved`, and nothing is answered until `answers` is set.
    """

    now: Callable[[], int]
    scheme: str = "http"
    port: int = 0
    claims: dict[str, Any] = field(default_factory=dict)
    changes: dict[str, Any] = field(default_factory=dict)
    about: dict[str, Any] | None = None
    denies: bool = False
    forged: Callable[[dict[str, Any]], str] | None = None
    further_keys: list[Any] = field(default_factory=list)
    moved: str | None = None
    answers: threading.Event = field(default_factory=threading.Event)
    said_issuer: str | None = None
    # What the metadata say instead, and what endpoints answer instead, by their paths.
    metadata: dict[str, Any] = field(default_factory=dict)
    bodies: dict[str, bytes] = field(default_factory=dict)
    # Requests of browsers and of the server, as they came.
    asked: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    tokens: list[str] = field(default_factory=list)
    key: Any = field(default_factory=lambda: ECKey.generate_key("P-256", {"kid": "1"}))
    signing: Any = None
    header: dict[str, str] = field(default_factory=lambda: {"alg": "ES256", "kid": "1"})

    @property
    def issuer(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    @property
    def settings(self) -> dict[str, str]:
        return {
            "OIDC_ISSUER": self.issuer,
            "OIDC_CLIENT_ID": CLIENT,
            "OIDC_CLIENT_SECRET": SECRET,
            "OIDC_LABEL": "Sign in with Example",
        }

    def sign_in(self, subject: str, email: str | None, **more: Any) -> None:
        """Let this account be the one that is signed in at the provider."""
        self.claims = {"sub": subject, "email_verified": True, **more}
        if email is not None:
            self.claims["email"] = email

    def id_token(self, nonce: str) -> str:
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "iat": self.now(),
            "exp": self.now() + 300,
            "nonce": nonce,
            **self.claims,
            **self.changes,
        }
        if self.forged is not None:
            return self.forged(claims)
        return jwt.encode(self.header, claims, self.signing or self.key)

    def application(self) -> Flask:
        app = Flask("oidc_provider")

        @app.before_request
        def wait() -> None:
            self.paths.append(request.path)
            assert self.answers.wait(LONGEST_SECONDS)

        @app.before_request
        def answer() -> Any:
            body = self.bodies.get(request.path)
            return None if body is None else Response(body, mimetype="application/json")

        @app.get("/.well-known/openid-configuration")
        def metadata() -> Any:
            usual = {
                "issuer": self.said_issuer or self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
                "userinfo_endpoint": f"{self.issuer}/about",
            }
            return jsonify(usual | self.metadata)

        @app.get("/authorize")
        def authorize() -> Any:
            asked = dict(request.args)
            self.asked.append(asked)
            answer = {"state": asked["state"]}
            if self.denies:
                answer["error"] = "access_denied"
            else:
                answer["code"] = secrets.token_urlsafe(16)
                self.codes[answer["code"]] = asked
            return redirect(f"{asked['redirect_uri']}?{urlencode(answer)}")

        @app.post("/token")
        def token() -> Any:
            if self.moved is not None:
                return redirect(self.moved, 307)
            asked = self.codes.pop(request.form["code"], None)
            kind, _, given = request.headers["Authorization"].partition(" ")
            client = [unquote(part) for part in b64decode(given).decode().split(":")]
            digest = sha256(request.form["code_verifier"].encode()).digest()
            challenge = urlsafe_b64encode(digest).rstrip(b"=").decode()
            if (
                asked is None
                or (kind, client) != ("Basic", [CLIENT, SECRET])
                or (asked["code_challenge"], asked["code_challenge_method"]) != (challenge, "S256")
                or asked["redirect_uri"] != request.form["redirect_uri"]
            ):
                return jsonify(error="invalid_grant"), 400
            access = secrets.token_urlsafe(16)
            signed = self.id_token(asked["nonce"])
            self.tokens += [access, signed]
            return jsonify(
                access_token=access, token_type="Bearer", expires_in=300, id_token=signed
            )

        @app.get("/keys")
        def keys() -> Any:
            return jsonify(keys=[*self.further_keys, self.key.as_dict(private=False)])

        @app.get("/about")
        def about() -> Any:
            if request.headers["Authorization"].removeprefix("Bearer ") not in self.tokens:
                return "", 401
            return jsonify(self.about or {"sub": self.claims["sub"]})

        return app


@contextmanager
def oidc_provider(
    now: Callable[[], int], tls: SSLContext | None = None
) -> Iterator[OpenIdProvider]:
    """Run a provider; its tokens begin at `now`."""
    provider = OpenIdProvider(now, "http" if tls is None else "https")
    provider.answers.set()
    server = make_server("127.0.0.1", 0, provider.application(), threaded=True, ssl_context=tls)
    provider.port = server.port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield provider
    finally:
        provider.answers.set()
        server.shutdown()
        thread.join(LONGEST_SECONDS)
        server.server_close()


def authorization(query: str) -> dict[str, str]:
    """Return the fields of a query, each of which stands in it once."""
    return {name: value for name, (value,) in parse_qs(query, strict_parsing=True).items()}
