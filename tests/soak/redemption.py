"""A device's redemption of an invitation, drawn of the step's generator."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass

from hushpoll_shared.spelling.base64url import b64decode
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire import voprf
from hushpoll_shared.wire.invitations import INPUT_SIZE, Token, parse_evaluation


@dataclass(frozen=True)
class Redemption:
    """An invitation, and the input, the blind and the blinded element that a device drew for it."""

    invitation: str
    input: bytes
    blind: bytes
    blinded: bytes

    @classmethod
    def drawn(cls, invitation: str, rng: random.Random) -> Redemption:
        private_input = rng.randbytes(INPUT_SIZE)
        scalar = rng.randrange(1, voprf.Order).to_bytes(voprf.Ns, "little")
        return cls(invitation, private_input, *voprf.Blind(private_input, lambda: scalar))

    def token(self, answer: bytes, published: Published) -> str:
        """Take the blind off what the server answered; the proof must hold."""
        evaluated, proof = parse_evaluation(json.loads(answer))
        key = b64decode(published.invitation_key, field="invitation_key")
        output = voprf.Finalize(self.input, self.blind, evaluated, self.blinded, key, proof)
        return Token(self.input, output).to_text()
