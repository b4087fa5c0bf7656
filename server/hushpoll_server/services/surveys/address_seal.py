"""What is kept of an invited person, encrypted by a key that is outside the database."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from typing import Final

from hushpoll_server.errors import Refused
from hushpoll_shared.reading.people import Person

NONCE_SIZE: Final = 12
BLOCK: Final = 256
"""What is encrypted has a multiple of so many bytes, so that its size tells little."""


class AddressSeal:
    """Encrypts people by AES-256-GCM, and hashes their addresses, with keys made of `address_key`.

    That setting is 64 hexadecimal digits.
    """

    def __init__(self, key: str) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError:
            raise Refused(
                "missing-extra",
                "invitations by mail need the extra invited; its operator installs it from a "
                "checkout, in its folder: pip install . './server[invited]'",
            ) from None
        secret = bytes.fromhex(key)
        self._aead = AESGCM(_derived(secret, b"people"))
        self._address_key = _derived(secret, b"addresses")
        self.key_id: str = _derived(secret, b"id").hex()[:16]

    def address(self, person: Person, version_id: int) -> bytes:
        """Return what is the same for one address in one version, and tells nothing without key."""
        message = version_id.to_bytes(8, "big") + person.key.encode()
        return hmac.digest(self._address_key, message, "sha256")

    def sealed(self, person: Person, code: str, invitation: bytes) -> bytes:
        """Return a person and the invitation, encrypted and bound to the row of its hash."""
        text = json.dumps({**person.to_dict(), "code": code}).encode()
        nonce = os.urandom(NONCE_SIZE)
        padded = text.ljust(-(-len(text) // BLOCK) * BLOCK)
        return nonce + self._aead.encrypt(nonce, padded, invitation)

    def opened(self, sealed: bytes, invitation: bytes) -> tuple[Person, str]:
        """Return the person and the invitation; refuse what was changed, or is of another key."""
        from cryptography.exceptions import InvalidTag

        try:
            text = self._aead.decrypt(sealed[:NONCE_SIZE], sealed[NONCE_SIZE:], invitation)
        except InvalidTag:
            raise Refused(
                "unavailable",
                "an address in the database cannot be decrypted by address_key; its operator "
                "restores the database or the key that belong together",
            ) from None
        members = json.loads(text)
        code = members.pop("code")
        return Person(**members), code


def _derived(secret: bytes, use: bytes) -> bytes:
    return hmac.digest(secret, b"hushpoll " + use, hashlib.sha256)
