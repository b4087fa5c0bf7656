"""Invitations: RFC 9497's own vectors, and keys, redemptions and tokens as hushpoll has them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from hushpoll_shared.spelling.base64url import b64encode
from hushpoll_shared.wire import voprf
from hushpoll_shared.wire.invitations import Token, encode_evaluation, encode_redemption, key_info
from vector_builders.document import Group, write

DIGEST: Final = "00ff" * 16
# RFC 9497, appendix A.1.2: ristretto255-SHA512, VOPRF mode.
RFC_SEED: Final = "a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3"
RFC_KEY_INFO: Final = "74657374206b6579"
RFC_SECRET: Final = "e6f73f344b79b379f1a0dd37e07ff62e38d9f71345ce62ae3a9bc60b04ccd909"
RFC_PUBLIC: Final = "c803e2cc6b05fc15064549b5920659ca4a77b2cca6f04f6b357009335476ad4e"
RFC_VECTORS: Final = (
    {
        "input": "00",
        "blind": "64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706",
        "blinded": "863f330cc1a1259ed5a5998a23acfd37fb4351a793a5b3c090b642ddc439b945",
        "evaluated": "aa8fa048764d5623868679402ff6108d2521884fa138cd7f9c7669a9a014267e",
        "r": "222a5e897cf59db8145db8d16e597e8facb80ae7d4e26d9881aa6f61d645fc0e",
        "proof": (
            "ddef93772692e535d1a53903db24367355cc2cc78de93b3be5a8ffcc6985dd066d4346421d17bf51"
            "17a2a1ff0fcb2a759f58a539dfbe857a40bce4cf49ec600d"
        ),
        "output": (
            "b58cfbe118e0cb94d79b5fd6a6dafb98764dff49c14e1770b566e42402da1a7da4d8527693914139"
            "caee5bd03903af43a491351d23b430948dd50cde10d32b3c"
        ),
    },
    {
        "input": "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a",
        "blind": "64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706",
        "blinded": "cc0b2a350101881d8a4cba4c80241d74fb7dcbfde4a61fde2f91443c2bf9ef0c",
        "evaluated": "60a59a57208d48aca71e9e850d22674b611f752bed48b36f7a91b372bd7ad468",
        "r": "222a5e897cf59db8145db8d16e597e8facb80ae7d4e26d9881aa6f61d645fc0e",
        "proof": (
            "401a0da6264f8cf45bb2f5264bc31e109155600babb3cd4e5af7d181a2c9dc0a67154fabf031fd93"
            "6051dec80b0b6ae29c9503493dde7393b722eafdf5a50b02"
        ),
        "output": (
            "8a9a2f3c7f085b65933594309041fc1898d42d0858e59f90814ae90571a6df60356f4610bf816f27"
            "afdd84f47719e480906d27ecd994985890e5f539e7ea74b6"
        ),
    },
)


def build(folder: Path) -> None:
    """Write invitations.json."""
    write(
        folder / "invitations.json",
        "What an invitation is redeemed by: RFC 9497, and our keys and tokens over it.",
        [_rfc(), _tokens()],
    )


def _rfc() -> Group:
    group = Group(
        "rfc9497",
        "Appendix A.1.2 of RFC 9497, single evaluations. All values in hexadecimal.",
        {
            **dict.fromkeys(("seed", "key_info"), "of which the key is derived"),
            "secret": "private key",
            "public": "public key",
            "input": "of the function",
            "blind": "scalar drawn by the device",
            "blinded": "what the device sends",
            "evaluated": "what the server makes of it",
            "r": "scalar drawn for the proof",
            "proof": "challenge and response",
            "output": "of the function",
        },
    )
    for vector in RFC_VECTORS:
        group.add(
            seed=RFC_SEED,
            key_info=RFC_KEY_INFO,
            secret=RFC_SECRET,
            public=RFC_PUBLIC,
            **vector,
        )
    return group


def _tokens() -> Group:
    group = Group(
        "tokens",
        "A redemption as it travels, and the token that comes of it.",
        {
            "seed": "the server's invitation_seed, hexadecimal",
            "survey": "name",
            "version": "number",
            "key": "invitation_key of the manifest",
            "input": "of the token, hexadecimal",
            "blind": "scalar, hexadecimal",
            "request": "body of the redemption",
            "answer": "body of the evaluation",
            "token": "what the report carries",
            "refused": "keys of another version and another seed, for which the proof fails",
        },
    )
    for at, (survey, version) in enumerate(
        (("work", 1), ("work", 2), ("a-panel_of_2026", 2**31 - 1))
    ):
        seed = bytes([at + 1]) * 32
        key = voprf.DeriveKeyPair(seed, key_info(survey, version))
        private_input = bytes(range(at, at + 32))
        blind = voprf.HashToScalar(bytes([at]))
        blinded = voprf.blinded_with(private_input, blind)
        r = voprf.HashToScalar(bytes([at, at]))
        evaluated, proof = voprf.BlindEvaluate(key, blinded, lambda r=r: r)
        output = voprf.Finalize(private_input, blind, evaluated, blinded, key.pkS, proof)
        others = (
            voprf.DeriveKeyPair(seed, key_info(survey, version % 7 + 3)),
            voprf.DeriveKeyPair(bytes(32), key_info(survey, version)),
        )
        group.add(
            seed=seed.hex(),
            survey=survey,
            version=version,
            key=b64encode(key.pkS),
            input=private_input.hex(),
            blind=blind.hex(),
            request=encode_redemption(DIGEST, blinded),
            answer=encode_evaluation(evaluated, proof),
            token=Token(private_input, output).to_text(),
            refused=[b64encode(other.pkS) for other in others],
        )
    return group
