"""Invitations as they travel: redeemed for a token that the server cannot recognise.

The device draws the token's input and sends it blinded with its invitation. The server evaluates it
with the key of the survey's version; what the device makes of that is the token's output. Input and
output go with the report, as its bearer token. ``voprf`` has the function.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hushpoll_protocols import InvalidParameter
from hushpoll_shared.spelling.base64url import b64decode, b64encode
from hushpoll_shared.wire.reports import body_with, check_digest

INPUT_SIZE: Final = 32
"""Bytes of a token's input, drawn by the device."""
OUTPUT_SIZE: Final = 64
"""Bytes of a token's output, the key's function of the input."""
ELEMENT_SIZE: Final = 32
PROOF_SIZE: Final = 64

_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{128}", re.ASCII)
_REQUEST_KEYS: Final = ("digest", "blinded")
_ANSWER_KEYS: Final = ("evaluated", "proof")


@dataclass(frozen=True, repr=False)
class Token:
    """What a report of an invited survey carries; its repr does not show it."""

    input: bytes
    """`INPUT_SIZE` random bytes."""
    output: bytes
    """`OUTPUT_SIZE` bytes."""

    def __repr__(self) -> str:
        return "<token, not shown>"

    def to_text(self) -> str:
        """Return the token as a header carries it: 128 characters of base64url."""
        return b64encode(self.input + self.output)

    @classmethod
    def from_text(cls, text: str | None) -> Token | None:
        """Read a token; None for a text that is none."""
        if text is None or not _TOKEN.fullmatch(text):
            return None
        value = b64decode(text, field="token")
        return cls(value[:INPUT_SIZE], value[INPUT_SIZE:])


def key_info(survey: str, version: int) -> bytes:
    """Return what a key is for, of which it is derived: one survey's one version."""
    return f"hushpoll invited {survey} {version}".encode()


def encode_redemption(digest: str, blinded: bytes) -> dict[str, str]:
    """Return the JSON body by which an invitation is redeemed."""
    return {"digest": check_digest(digest), "blinded": b64encode(blinded)}


def parse_redemption(value: object) -> tuple[str, bytes]:
    """Read the body of a redemption: digest and blinded element, not checked to be of the group."""
    document = body_with(value, _REQUEST_KEYS, "the redemption")
    return check_digest(document["digest"]), _sized(document, "blinded", ELEMENT_SIZE)


def encode_evaluation(evaluated: bytes, proof: bytes) -> dict[str, str]:
    """Return the JSON body of the answer to a redemption."""
    return {"evaluated": b64encode(evaluated), "proof": b64encode(proof)}


def parse_evaluation(value: object) -> tuple[bytes, bytes]:
    """Read the answer to a redemption: the evaluated element, and the proof."""
    document = body_with(value, _ANSWER_KEYS, "the evaluation")
    return _sized(document, "evaluated", ELEMENT_SIZE), _sized(document, "proof", PROOF_SIZE)


def _sized(document: Mapping[str, object], field: str, size: int) -> bytes:
    value = document[field]
    decoded = b64decode(value, field=field)
    if len(decoded) != size:
        raise InvalidParameter(
            f"{field} has {len(decoded)} bytes; it has {size} in base64url", field=field
        )
    return decoded
