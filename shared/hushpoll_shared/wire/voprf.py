"""The verifiable oblivious pseudorandom function of RFC 9497, ristretto255-SHA512, mode VOPRF.

A device blinds an input of its own, a server evaluates it with its key without learning it, and the
device takes the blind off. What comes out is the server's function of the input. The proof shows
the device that the key is the one that was published, so that a server cannot give a key to each
device and tell them by it.

The names of functions and values are those of RFC 9497, sections 3.1 to 3.3.2. The group is
libsodium's ristretto255, from the extra ``invited``; scalars and elements are its 32 bytes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from hushpoll_protocols.errors import InvalidParameter, MissingExtra

try:
    import rbcl as sodium
except ImportError:
    raise MissingExtra("invited", "surveys that take invitations") from None

modeVOPRF: Final = 0x01  # noqa: N816  # the RFC's name
Identifier: Final = b"ristretto255-SHA512"
Ne: Final = 32
"""Bytes of an element."""
Ns: Final = 32
"""Bytes of a scalar."""
Nh: Final = 64
"""Bytes of an output."""
ContextString: Final = b"OPRFV1-" + bytes([modeVOPRF]) + b"-" + Identifier
Order: Final = 2**252 + 27742317777372353535851937790883648493

_BLOCK: Final = 128
"""Bytes of an input block of SHA-512."""
_LARGEST_INPUT: Final = 2**16 - 1

RandomScalar = Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A server's key; its repr does not show the private one."""

    skS: bytes  # noqa: N815  # the RFC's name
    """Private key, 32 bytes, a scalar that is not 0."""
    pkS: bytes  # noqa: N815  # the RFC's name
    """Public key, 32 bytes, an element."""

    def __repr__(self) -> str:
        return f"KeyPair(pkS={self.pkS.hex()})"


def random_scalar() -> bytes:
    """Draw a scalar that is not 0 from the operating system's generator."""
    while True:
        # 512 bits, reduced: the bias is below 2^-250.
        scalar: bytes = sodium.crypto_core_ristretto255_scalar_reduce(os.urandom(64))
        if any(scalar):
            return scalar


def DeriveKeyPair(seed: bytes, info: bytes) -> KeyPair:  # noqa: N802  # the RFC's name
    """Derive a key pair from a secret (section 3.2.1).

    `seed` is 32 secret random bytes, `info` says what the key is for in at most 65,535 bytes.
    """
    if len(seed) != Ns:
        raise InvalidParameter(f"seed has {len(seed)} bytes; it has {Ns}", field="seed")
    derive_input = seed + _prefixed(info)
    for counter in range(256):
        sk = HashToScalar(derive_input + bytes([counter]), b"DeriveKeyPair" + ContextString)
        if any(sk):
            return KeyPair(sk, sodium.crypto_scalarmult_ristretto255_base(sk))
    raise InvalidParameter("no key can be derived from this seed; draw another", field="seed")


def Blind(  # noqa: N802  # the RFC's name
    private_input: bytes, random: RandomScalar = random_scalar
) -> tuple[bytes, bytes]:
    """Return a random blind and the blinded element of an input (section 3.3.1)."""
    blind = random()
    return blind, blinded_with(private_input, blind)


def blinded_with(private_input: bytes, blind: bytes) -> bytes:
    """Return the blinded element of an input, for a device that asks again with the same blind."""
    return _times(blind, HashToGroup(private_input), "input")


def BlindEvaluate(  # noqa: N802  # the RFC's name
    key: KeyPair, blinded_element: bytes, random: RandomScalar = random_scalar
) -> tuple[bytes, bytes]:
    """Evaluate a blinded element (section 3.3.2) into 32 bytes, with a proof of 64 random bytes.

    Refuses what is no element, and the group's identity.
    """
    check_element(blinded_element, field="blinded")
    evaluated_element = _times(key.skS, blinded_element, "blinded")
    return evaluated_element, GenerateProof(key, [blinded_element], [evaluated_element], random)


def Finalize(  # noqa: N802  # the RFC's name
    private_input: bytes,
    blind: bytes,
    evaluated_element: bytes,
    blinded_element: bytes,
    pkS: bytes,  # the RFC's name
    proof: bytes,
) -> bytes:
    """Check the proof and take the blind off; return the output, 64 bytes (section 3.3.2).

    Refuses an evaluation that was made with another key than `pkS`, or changed.
    """
    if not VerifyProof(pkS, [blinded_element], [evaluated_element], proof):
        raise InvalidParameter(
            "the server's proof does not hold, so it used another key than the published one, or "
            "its answer was changed; do not answer this survey, and tell its author",
            field="proof",
        )
    inverse = sodium.crypto_core_ristretto255_scalar_invert(blind)
    return _output(private_input, _times(inverse, evaluated_element, "evaluated"))


def Evaluate(key: KeyPair, private_input: bytes) -> bytes:  # noqa: N802  # the RFC's name
    """Return the function of an input that is known, 64 bytes (section 3.3.1)."""
    return _output(private_input, _times(key.skS, HashToGroup(private_input), "input"))


def GenerateProof(  # noqa: N802  # the RFC's name
    key: KeyPair, C: Sequence[bytes], D: Sequence[bytes], random: RandomScalar = random_scalar
) -> bytes:
    """Prove that each D[i] is key.skS times C[i] (section 2.2.1); 64 bytes."""
    M, Z = _composites(key.pkS, C, D)
    r = random()
    t2 = sodium.crypto_scalarmult_ristretto255_base(r)
    t3 = _times(r, M, "blinded")
    c = _challenge(key.pkS, M, Z, t2, t3)
    ck = sodium.crypto_core_ristretto255_scalar_mul(c, key.skS)
    s: bytes = sodium.crypto_core_ristretto255_scalar_sub(r, ck)
    return c + s


def VerifyProof(  # noqa: N802  # the RFC's name
    pkS: bytes,  # the RFC's name
    C: Sequence[bytes],
    D: Sequence[bytes],
    proof: bytes,
) -> bool:
    """Return whether a proof shows that D[i] and C[i] have the ratio of the key (section 2.2.2)."""
    if len(proof) != 2 * Ns or not all(map(is_element, (pkS, *C, *D))):
        return False
    c, s = proof[:Ns], proof[Ns:]
    if not all(int.from_bytes(scalar, "little") < Order for scalar in (c, s)):
        return False
    try:
        M, Z = _composites(pkS, C, D)
        if not is_element(M) or not is_element(Z):
            return False
        base = sodium.crypto_scalarmult_ristretto255_base_allow_scalar_zero(s)
        t2 = sodium.crypto_core_ristretto255_add(base, _multiple(c, pkS))
        t3 = sodium.crypto_core_ristretto255_add(_multiple(s, M), _multiple(c, Z))
    except (RuntimeError, TypeError, ValueError):
        return False
    return _challenge(pkS, M, Z, t2, t3) == c


def HashToGroup(x: bytes) -> bytes:  # noqa: N802  # the RFC's name
    """Return the element of a text (section 4.1: hash_to_ristretto255 of RFC 9380)."""
    uniform = _expand_message_xmd(x, b"HashToGroup-" + ContextString)
    element: bytes = sodium.crypto_core_ristretto255_from_hash(uniform)
    return element


def HashToScalar(x: bytes, dst: bytes = b"HashToScalar-" + ContextString) -> bytes:  # noqa: N802
    """Return the scalar of a text (section 4.1)."""
    scalar: bytes = sodium.crypto_core_ristretto255_scalar_reduce(_expand_message_xmd(x, dst))
    return scalar


def is_element(value: bytes) -> bool:
    """Return whether bytes are an element other than the identity, in its one spelling."""
    return (
        len(value) == Ne
        and any(value)
        and bool(sodium.crypto_core_ristretto255_is_valid_point(value))
    )


def check_element(value: bytes, *, field: str) -> bytes:
    """Return an element; refuses the identity and what is none."""
    if not is_element(value):
        raise InvalidParameter(
            f"{field} is {len(value)} bytes that are no element of ristretto255; give the {Ne} "
            "bytes of one that is not the identity",
            field=field,
        )
    return value


def _composites(B: bytes, C: Sequence[bytes], D: Sequence[bytes]) -> tuple[bytes, bytes]:
    """Return sums of the elements with random weights (ComputeComposites, section 2.2.1)."""
    seed = hashlib.sha512(_prefixed(B) + _prefixed(b"Seed-" + ContextString)).digest()
    M = Z = b""
    for i, (Ci, Di) in enumerate(zip(C, D, strict=True)):
        transcript = _prefixed(seed) + i.to_bytes(2, "big") + _prefixed(Ci) + _prefixed(Di)
        di = HashToScalar(transcript + b"Composite")
        Mi, Zi = _multiple(di, Ci), _multiple(di, Di)
        # A sum with the identity would be the same element, at a tenth of a proof's time.
        M = sodium.crypto_core_ristretto255_add(Mi, M) if M else Mi
        Z = sodium.crypto_core_ristretto255_add(Zi, Z) if Z else Zi
    return M, Z


def _challenge(B: bytes, M: bytes, Z: bytes, t2: bytes, t3: bytes) -> bytes:
    parts = b"".join(map(_prefixed, (B, M, Z, t2, t3)))
    return HashToScalar(parts + b"Challenge")


def _output(private_input: bytes, element: bytes) -> bytes:
    return hashlib.sha512(_prefixed(private_input) + _prefixed(element) + b"Finalize").digest()


def _times(scalar: bytes, element: bytes, field: str) -> bytes:
    """Return a multiple that is not the identity."""
    try:
        product: bytes = sodium.crypto_scalarmult_ristretto255(scalar, element)
    except RuntimeError:
        raise InvalidParameter(
            f"{field} gives the identity of ristretto255, of which nothing can be made; draw "
            "another",
            field=field,
        ) from None
    return product


def _multiple(scalar: bytes, element: bytes) -> bytes:
    """Return a multiple, which of the scalar 0 is the identity."""
    return bytes(Ne) if not any(scalar) else sodium.crypto_scalarmult_ristretto255(scalar, element)


def _prefixed(value: bytes) -> bytes:
    if len(value) > _LARGEST_INPUT:
        raise InvalidParameter(
            f"the input has {len(value)} bytes; it has at most {_LARGEST_INPUT}", field="input"
        )
    return len(value).to_bytes(2, "big") + value


def _expand_message_xmd(msg: bytes, dst: bytes) -> bytes:
    """Return 64 bytes of a text (RFC 9380, section 5.3.1, with SHA-512)."""
    dst_prime = dst + bytes([len(dst)])
    b0 = hashlib.sha512(bytes(_BLOCK) + msg + (Nh).to_bytes(2, "big") + b"\0" + dst_prime).digest()
    return hashlib.sha512(b0 + b"\1" + dst_prime).digest()
