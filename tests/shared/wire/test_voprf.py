"""RFC 9497's function: its own vectors, and what a server could try instead."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path

import pytest

from hushpoll_protocols import InvalidParameter
from hushpoll_protocols.errors import MissingExtra
from hushpoll_shared.spelling.base64url import b64decode, b64encode
from hushpoll_shared.wire import voprf
from hushpoll_shared.wire.invitations import (
    Token,
    encode_redemption,
    key_info,
    parse_evaluation,
    parse_redemption,
)

VECTORS = json.loads(
    next(folder / "vectors" for folder in Path(__file__).parents if (folder / "vectors").is_dir())
    .joinpath("invitations.json")
    .read_bytes()
)
HEX = bytes.fromhex
# Appendix A.1.2, the two evaluations with one proof.
BLINDS = [
    "64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706",
    "222a5e897cf59db8145db8d16e597e8facb80ae7d4e26d9881aa6f61d645fc0e",
]
INPUTS = ["00", "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a"]
BATCH_R = "419c4f4f5052c53c45f3da494d2b67b220d02118e0857cdbcf037f9ea84bbe0c"
BATCH_PROOF = (
    "cc203910175d786927eeb44ea847328047892ddf8590e723c37205cb74600b0a5ab5337c8eb4ceae"
    "0494c2cf89529dcf94572ed267473d567aeed6ab873dee08"
)


@pytest.mark.parametrize("vector", VECTORS["rfc9497"], ids=lambda vector: vector["input"][:8])
def test_vectors_of_the_rfc(vector):
    key = voprf.DeriveKeyPair(HEX(vector["seed"]), HEX(vector["key_info"]))
    assert (key.skS.hex(), key.pkS.hex()) == (vector["secret"], vector["public"])
    given = HEX(vector["input"])
    blind, blinded = voprf.Blind(given, lambda: HEX(vector["blind"]))
    assert blinded.hex() == vector["blinded"]
    evaluated, proof = voprf.BlindEvaluate(key, blinded, lambda: HEX(vector["r"]))
    assert (evaluated.hex(), proof.hex()) == (vector["evaluated"], vector["proof"])
    output = voprf.Finalize(given, blind, evaluated, blinded, key.pkS, proof)
    assert output.hex() == voprf.Evaluate(key, given).hex() == vector["output"]


def test_vector_of_the_rfc_with_one_proof_for_two():
    first = VECTORS["rfc9497"][0]
    key = voprf.DeriveKeyPair(HEX(first["seed"]), HEX(first["key_info"]))
    C = [voprf.blinded_with(HEX(i), HEX(b)) for i, b in zip(INPUTS, BLINDS, strict=True)]
    D = [voprf.BlindEvaluate(key, one)[0] for one in C]
    proof = voprf.GenerateProof(key, C, D, lambda: HEX(BATCH_R))
    assert proof.hex() == BATCH_PROOF
    assert voprf.VerifyProof(key.pkS, C, D, proof)
    assert not voprf.VerifyProof(key.pkS, C, D[::-1], proof)


@pytest.mark.parametrize("vector", VECTORS["tokens"], ids=lambda vector: vector["survey"])
def test_tokens(vector):
    key = voprf.DeriveKeyPair(HEX(vector["seed"]), key_info(vector["survey"], vector["version"]))
    assert b64encode(key.pkS) == vector["key"]
    digest, blinded = parse_redemption(vector["request"])
    blind, given = HEX(vector["blind"]), HEX(vector["input"])
    assert encode_redemption(digest, voprf.blinded_with(given, blind)) == vector["request"]
    evaluated, proof = parse_evaluation(vector["answer"])
    output = voprf.Finalize(given, blind, evaluated, blinded, key.pkS, proof)
    token = Token(given, output)
    assert token.to_text() == vector["token"]
    assert Token.from_text(vector["token"]) == token
    for other in vector["refused"]:
        with pytest.raises(InvalidParameter, match="another key than the published"):
            voprf.Finalize(given, blind, evaluated, blinded, b64decode(other, field="key"), proof)


def test_changed_proofs_do_not_hold():
    key = voprf.DeriveKeyPair(bytes(32), b"test")
    _, blinded = voprf.Blind(b"input")
    evaluated, proof = voprf.BlindEvaluate(key, blinded)
    assert voprf.VerifyProof(key.pkS, [blinded], [evaluated], proof)
    for at in range(64):
        changed = bytes(byte ^ (at == place) for place, byte in enumerate(proof))
        assert not voprf.VerifyProof(key.pkS, [blinded], [evaluated], changed)
    for bad in (proof[:-1], proof + b"\0", b"\xff" * 64, bytes(64)):
        assert not voprf.VerifyProof(key.pkS, [blinded], [evaluated], bad)
    for element in (bytes(32), b"\xff" * 32, b""):
        assert not voprf.VerifyProof(key.pkS, [blinded], [element], proof)
        assert not voprf.VerifyProof(element, [blinded], [evaluated], proof)


def test_proof_of_another_key_does_not_hold():
    key, other = (voprf.DeriveKeyPair(bytes([at]) * 32, b"test") for at in range(2))
    _, blinded = voprf.Blind(b"input")
    evaluated, proof = voprf.BlindEvaluate(other, blinded)
    assert not voprf.VerifyProof(key.pkS, [blinded], [evaluated], proof)


def test_blinds_and_proofs_differ_each_time():
    key = voprf.DeriveKeyPair(bytes(32), b"test")
    elements = {voprf.Blind(b"input")[1] for _ in range(20)}
    assert len(elements) == 20
    (one, *_) = elements
    assert len({voprf.BlindEvaluate(key, one)[1] for _ in range(20)}) == 20
    assert len({voprf.BlindEvaluate(key, one)[0] for _ in range(20)}) == 1


def test_any_blinded_element_fits_any_input():
    # For a blinded element and another input there is a blind: what the server keeps of a
    # redemption is as likely for every token.
    inverse = voprf.sodium.crypto_core_ristretto255_scalar_invert
    blind, blinded = voprf.Blind(b"mine")
    element = voprf.HashToGroup(b"mine")
    again = voprf._times(inverse(blind), blinded, "test")
    assert again == element


@pytest.mark.parametrize("size", [0, 31, 33])
def test_seed_of_another_length_is_refused(size):
    with pytest.raises(InvalidParameter) as caught:
        voprf.DeriveKeyPair(bytes(size), b"")
    assert caught.value.field == "seed"


def test_key_is_not_shown():
    key = voprf.DeriveKeyPair(bytes(32), b"test")
    assert key.skS.hex() not in repr(key)


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "rbcl", None)
    monkeypatch.delitem(sys.modules, "hushpoll_shared.wire.voprf")
    with pytest.raises(MissingExtra) as caught:
        import_module("hushpoll_shared.wire.voprf")
    assert caught.value.extra == "invited"
