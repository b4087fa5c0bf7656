"""The keys by which invited surveys' tokens are made and verified: one for each version.

They are derived of one secret, which is outside the database. Its reader can make any number of
tokens, and cannot tell whose token a report carries: that no key tells.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from hushpoll_protocols.errors import MissingExtra
from hushpoll_server.errors import Refused
from hushpoll_server.logs import get_logger
from hushpoll_shared.spelling.base64url import b64encode
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.terms import INVITED
from hushpoll_shared.wire.invitations import key_info

if TYPE_CHECKING:
    from types import ModuleType

    from hushpoll_shared.wire.voprf import KeyPair

log = get_logger(__name__)

WRONG_KEY_RETRY_SECONDS = 60
CACHED_KEYS = 256


def voprf() -> ModuleType:
    """Return the module of the function, which needs the extra ``invited``."""
    try:
        from hushpoll_shared.wire import voprf as module
    except MissingExtra as error:
        raise Refused("missing-extra", str(error)) from None
    return module


class InvitationKeys:
    """Derives the keys of versions: new ones of one seed, and each of the one it was made of.

    They are the settings ``invitation_seed`` and ``former_invitation_seeds``.
    """

    def __init__(self, seed: str | None, former: str | None = None) -> None:
        self._seed = None if seed is None else bytes.fromhex(seed)
        self._former = [] if former is None else list(map(bytes.fromhex, former.split(",")))
        self._derived = lru_cache(maxsize=CACHED_KEYS)(self._derive)

    def with_key(self, published: Published, stored: Collection[str] = ()) -> Published:
        """Return a survey as it is published: an invited one with the public key of its version.

        A survey of which a former seed makes one of the digests in `stored`, which are published
        already, keeps the key that it had. A server without a seed refuses.
        """
        if published.submission != INVITED:
            return published
        if self._seed is None:
            raise Refused(
                "invalid-request",
                "submission is invited, and this server has no secret of which the keys of such "
                "surveys are made; ask its operator to set invitation_seed (64 hexadecimal "
                "digits, as openssl rand -hex 32 prints them), or choose open or token",
                field="submission",
            )
        newest = self._keyed(self._seed, published)
        keyed = (self._keyed(seed, published) for seed in self._former if stored)
        return next((one for one in (newest, *keyed) if one.digest in stored), newest)

    def key(self, published: Published) -> KeyPair:
        """Return the key of a published version; refuse one of a seed that is not set."""
        newest = [] if self._seed is None else [self._seed]
        for seed in (*newest, *self._former):
            key = self._derived(seed, published.name, published.version)
            if b64encode(key.pkS) == published.invitation_key:
                return key
        log.error("invitation-key-missing", survey=published.name, version=published.version)
        raise Refused(
            "unavailable",
            f"this server lacks the key of {published.name} version {published.version}: its "
            "invitation_seed and former_invitation_seeds are not the one with which the version "
            "was published; its operator has to set that one, and what is sent then is taken",
            retry_after=WRONG_KEY_RETRY_SECONDS,
        )

    def _keyed(self, seed: bytes, published: Published) -> Published:
        key = self._derived(seed, published.name, published.version)
        return replace(published, invitation_key=b64encode(key.pkS))

    def _derive(self, seed: bytes, survey: str, version: int) -> KeyPair:
        key: KeyPair = voprf().DeriveKeyPair(seed, key_info(survey, version))
        return key
