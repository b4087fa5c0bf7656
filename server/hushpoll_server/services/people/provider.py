"""Signing in at an OpenID Connect provider: the way there, and the identity that comes back.

The authorization code flow with PKCE (RFC 7636), by Authlib (extra ``oidc``), which is imported
when the first user goes there. Of the provider's tokens nothing is kept: the ID token is checked,
and our own session follows.
"""

from __future__ import annotations

import hmac
import importlib.util
import secrets
import threading
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from hushpoll_protocols.errors import MissingExtra
from hushpoll_server.config.settings import Settings
from hushpoll_server.errors import Refused
from hushpoll_server.logs import get_logger
from hushpoll_server.services.people.places import NoPlace, Places

log = get_logger(__name__)

ATTEMPT_SECONDS: Final = 600
# For one answer, as a whole, and for all that one sign-in asks the provider for.
ANSWER_SECONDS: Final = 5.0
VISIT_SECONDS: Final = 10.0
METADATA_SECONDS: Final = 600
# By which the provider's clock and ours may differ.
LEEWAY_SECONDS: Final = 60
# One asks for the metadata, and others wait for it: each holds a thread of the web process.
WAITING_FOR_METADATA: Final = 4
MOST_KEYS: Final = 100
LONGEST_ADDRESS: Final = 2000
RETRY_AFTER_SECONDS: Final = 5
LONGEST_SUBJECT: Final = 255  # of the specification
# Signatures that need the provider's private key. A token that is not signed is refused, and so is
# one that is signed with the client's secret.
ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512"),
    *("PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512"),
)
EMAIL: Final = "email"

_ENDPOINTS: Final = ("authorization_endpoint", "token_endpoint", "jwks_uri")


@dataclass(frozen=True)
class Identity:
    """Whom the provider has signed in.

    `issuer` and `subject` never change for an account. `name` is the claim that the settings name;
    None where the provider does not tell it, or does not vouch for the e-mail address.
    """

    issuer: str
    subject: str
    name: str | None


@dataclass(frozen=True)
class Attempt:
    """One attempt to sign in, all of which follows from the secret of a cookie.

    So an answer is of use in the browser that asked and in no other, and the server keeps nothing.
    """

    secret: str

    @classmethod
    def new(cls) -> Attempt:
        """Return an attempt that nobody can guess."""
        return cls(secrets.token_urlsafe(32))

    @property
    def state(self) -> str:
        """What the provider hands back with its answer."""
        return self._derived("state")

    @property
    def nonce(self) -> str:
        """What the ID token must carry."""
        return self._derived("nonce")

    @property
    def verifier(self) -> str:
        """The code verifier of PKCE: 43 characters."""
        return self._derived("verifier")

    def _derived(self, purpose: str) -> str:
        key = self.secret.encode("utf-8", "surrogatepass")
        digest = hmac.digest(key, purpose.encode(), "sha256")
        return urlsafe_b64encode(digest).rstrip(b"=").decode()


def require_oidc(settings: Settings) -> None:
    """Refuse settings of a provider where Authlib is not installed."""
    if settings.oidc_issuer is None:
        return
    # Looked for and not loaded: the server starts without it.
    if any(importlib.util.find_spec(name) is None for name in ("authlib", "joserfc", "requests")):
        raise MissingExtra("oidc", "signing in at an OpenID Connect provider (oidc_issuer)")


class Provider:
    """The provider that the settings name; `issuer` is exactly as its tokens spell it."""

    def __init__(self, issuer: str, settings: Settings) -> None:
        self._issuer = issuer
        self._settings = settings
        self._client_id = settings.oidc_client_id or ""
        self._claim = settings.oidc_name_claim
        self._lock = threading.Lock()
        self._metadata: tuple[int, dict[str, Any]] | None = None
        self._fetches = Places(1, WAITING_FOR_METADATA)

    @property
    def label(self) -> str:
        """The text of the button that leads there."""
        return self._settings.oidc_label

    def way(self, attempt: Attempt, return_to: str) -> str:
        """Return the address at the provider to which the browser goes, with a new attempt.

        The browser gets the attempt's secret as a cookie; `return_to` is the address of this server
        that the provider knows as the client's redirect URI.
        """
        with self._asking(), self._session() as session:
            metadata = self._known(session)
            address, _ = session.create_authorization_url(
                metadata["authorization_endpoint"],
                state=attempt.state,
                nonce=attempt.nonce,
                code_verifier=attempt.verifier,
                redirect_uri=return_to,
            )
            return str(address)

    def code_in(self, answer: Mapping[str, str], attempt: Attempt) -> str:
        """Return the code of the provider's answer, the query with which the browser came back.

        One that is no answer to this attempt, or has no code, is refused.
        """
        state = answer.get("state", "").encode("utf-8", "surrogatepass")
        if not attempt.secret or not hmac.compare_digest(state, attempt.state.encode()):
            raise _refused(
                "state",
                "this answer is not one to a sign-in that was begun in this browser within the "
                f"last {ATTEMPT_SECONDS // 60} minutes; begin again",
            )
        if answer.get("iss", self._issuer) != self._issuer:  # RFC 9207
            raise _refused("issuer", "this answer is one of another provider; begin again")
        if not answer.get("code"):
            raise _refused(
                "answer", "the provider did not sign you in; try again, or ask an administrator"
            )
        return answer["code"]

    def identity(self, code: str, attempt: Attempt, return_to: str) -> Identity:
        """Return whom the provider has signed in; refuse what does not prove who it is."""
        with self._asking(), self._session() as session:
            claims = self._claims(session, attempt, return_to, code)
        return Identity(self._issuer, claims["sub"], self._name(claims))

    def _claims(self, session: Any, attempt: Attempt, return_to: str, code: str) -> dict[str, Any]:
        """Return the checked claims of a code's ID token; where it lacks some, the account's."""
        from authlib.oidc.core import CodeIDToken
        from joserfc import jwt
        from joserfc.jws import JWSRegistry

        metadata = self._known(session)
        token = session.fetch_token(
            metadata["token_endpoint"],
            grant_type="authorization_code",
            code=code,
            code_verifier=attempt.verifier,
            redirect_uri=return_to,
            allow_redirects=False,
        )
        # Fetched each time: a key that the provider has taken back verifies nothing more.
        keys = _keys(_fetched(session, metadata["jwks_uri"]))
        allowed = JWSRegistry(algorithms=list(ALGORITHMS), strict_check_header=False)
        signed = jwt.decode(str(token["id_token"]), keys, registry=allowed)
        claims = CodeIDToken(
            signed.claims,
            signed.header,
            {
                "iss": {"essential": True, "value": self._issuer},
                "aud": {"essential": True, "value": self._client_id},
                "sub": {"essential": True},
            },
            {
                "nonce": attempt.nonce,
                "client_id": self._client_id,
                "access_token": token.get("access_token"),
            },
        )
        now = int(self._settings.clock.now().timestamp())
        claims.validate(now=now, leeway=LEEWAY_SECONDS)
        subject = claims["sub"]
        if len(subject) > LONGEST_SUBJECT or not subject.isprintable():
            raise _refused("token", "the provider's name of your account is too long, or no text")
        wanted = {self._claim, "email_verified"} if self._claim == EMAIL else {self._claim}
        if wanted <= claims.keys() or "userinfo_endpoint" not in metadata:
            return dict(claims)
        # All of it from one place: an address is vouched for beside itself.
        about = _fetched(session, self._secure(metadata["userinfo_endpoint"]), withhold_token=False)
        if about.get("sub") != subject:
            raise _refused("token", "the provider told of another account; try again")
        return about

    def _name(self, claims: Mapping[str, Any]) -> str | None:
        name = claims.get(self._claim)
        verified = claims.get("email_verified")
        # Some providers write booleans as text. A number is neither, though 1 equals True.
        if self._claim == EMAIL and verified is not True and verified != "true":
            return None
        return name if isinstance(name, str) else None

    def _known(self, session: Any) -> dict[str, Any]:
        """Return the provider's metadata, fetched when it is first needed and every ten minutes."""
        metadata = self._fresh()
        if metadata is not None:
            return metadata
        with self._fetches.hold():
            metadata = self._fresh()
            if metadata is not None:
                return metadata
            now = int(self._settings.clock.now().timestamp())
            address = self._issuer.rstrip("/") + "/.well-known/openid-configuration"
            metadata = _fetched(session, address)
            if metadata.get("issuer") != self._issuer:
                raise ValueError("the metadata are of another issuer")
            for name in _ENDPOINTS:
                self._secure(metadata[name])
            with self._lock:
                self._metadata = now, metadata
            return metadata

    def _fresh(self) -> dict[str, Any] | None:
        now = int(self._settings.clock.now().timestamp())
        with self._lock:
            kept = self._metadata
        return kept[1] if kept is not None and now < kept[0] + METADATA_SECONDS else None

    def _secure(self, address: Any) -> str:
        scheme = "http" if self._issuer.startswith("http://") else "https"
        if not isinstance(address, str) or not address.startswith(f"{scheme}://"):
            raise ValueError(f"an address of the metadata is no {scheme} address")
        if len(address) > LONGEST_ADDRESS or not address.isascii() or not address.isprintable():
            raise ValueError("an address of the metadata is too long, or has no form of one")
        return address

    def _session(self) -> Any:
        from authlib.integrations.requests_client import OAuth2Session

        from hushpoll_server.services.people.exchange import BoundedAdapter

        about = EMAIL if self._claim == EMAIL else "profile"
        session = OAuth2Session(
            self._client_id,
            self._settings.oidc_client_secret,
            scope=f"openid {about}",
            code_challenge_method="S256",
        )
        session.register_compliance_hook("access_token_response", _checked)
        bounded = BoundedAdapter(each=ANSWER_SECONDS, together=VISIT_SECONDS)
        for scheme in ("https://", "http://"):
            session.mount(scheme, bounded)
        return session

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Make faults of the provider refusals that quote nothing."""
        from authlib.common.errors import AuthlibBaseError
        from joserfc.errors import JoseError

        try:
            yield
        except Refused:
            raise
        except NoPlace:
            raise Refused(
                "unavailable",
                "many people sign in at this moment; try again in a few seconds",
                retry_after=RETRY_AFTER_SECONDS,
            ) from None
        except JoseError as error:
            raise _refused(
                "token",
                "what the provider said of you is not valid here; try again, or ask an "
                "administrator to look into the server's log",
                error,
            ) from None
        except AuthlibBaseError as error:
            raise _refused(
                "code",
                "the provider refused to say who you are; try again, or ask an administrator to "
                "look into the server's log",
                error,
            ) from None
        # Metadata, keys or tokens of another form than the specification's: whatever that makes of
        # a library, it is the provider's fault.
        except Exception as error:
            log.warning("provider-away", error=type(error).__name__)
            raise Refused(
                "unavailable",
                "the provider does not answer as it should; try again later, or sign in with a "
                "password if you have one",
                retry_after=RETRY_AFTER_SECONDS,
            ) from None


def _refused(reason: str, detail: str, error: Exception | None = None) -> Refused:
    """Return a refusal, and log it by a word of ours and an exception's type, never by its text."""
    more = {} if error is None else {"error": type(error).__name__}
    log.warning("provider-sign-in-refused", reason=reason, **more)
    return Refused("unauthorized", detail)


def _keys(published: Mapping[str, Any]) -> Any:
    """Return those of a provider's keys that can verify; the others are left out (RFC 7517, 5)."""
    from joserfc.errors import JoseError
    from joserfc.jwk import KeySet, import_key

    keys = []
    for key in published["keys"][:MOST_KEYS]:
        if isinstance(key, dict) and key.get("kty") in ("EC", "RSA"):
            with suppress(JoseError, ValueError, KeyError, TypeError):
                keys.append(import_key(key))
    return KeySet(keys)


def _fetched(session: Any, address: str, *, withhold_token: bool = True) -> dict[str, Any]:
    answer = session.get(address, withhold_token=withhold_token, allow_redirects=False)
    answer.raise_for_status()
    document = _checked(answer).json()
    if not isinstance(document, dict):
        raise ValueError("the provider's answer is no JSON object")
    return document


def _checked(answer: Any) -> Any:
    """Return an answer of the provider, unless its JSON is nested deeper than any honest one."""
    from hushpoll_server.services.people.exchange import check_depth

    check_depth(answer.content)
    return answer
