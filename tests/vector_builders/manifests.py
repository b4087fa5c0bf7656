"""Canonical JSON, and drafts with what they resolve to and what their devices send."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from decoded import clear_answers
from hushpoll_protocols import ReplayBits
from hushpoll_shared import Manifest, Published
from hushpoll_shared.spelling.canonical import InvalidJson, canonical_json, parse_json
from hushpoll_shared.survey.questions.follow_ups import NOT_ASKED, asks
from vector_builders.document import Group, hex64, write
from vector_builders.surveys import DRAFTS
from vector_builders.words import take

# RFC 8785, appendix B, and a few more round the edges of the notation.
DOUBLES = [
    "0000000000000000",
    "8000000000000000",
    "0000000000000001",
    "8000000000000001",
    "7fefffffffffffff",
    "ffefffffffffffff",
    "4340000000000000",
    "c340000000000000",
    "4430000000000000",
    "44b52d02c7e14af5",
    "44b52d02c7e14af6",
    "44b52d02c7e14af7",
    "444b1ae4d6e2ef4e",
    "444b1ae4d6e2ef4f",
    "444b1ae4d6e2ef50",
    "3eb0c6f7a0b5ed8c",
    "3eb0c6f7a0b5ed8d",
    "41b3de4355555553",
    "41b3de4355555554",
    "41b3de4355555555",
    "41b3de4355555556",
    "41b3de4355555557",
    "becbf647612f3696",
    "43143ff3c1cb0959",
    "3ff0000000000000",
    "3ff8000000000000",
    "3fb999999999999a",
    "bff0000000000000",
    "433fffffffffffff",
    "4340000000000001",
]

TEXTS = (
    "null",
    "true",
    "[]",
    "{}",
    ' { "b" : 1 , "a" : [ 1.0 , 1e0 , -0 , 0.5 ] } ',
    '"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/"',
    '{"\\u20ac":0,"\\r":0,"\\ufb33":0,"1":0,"\\ud83d\\ude00":0,"\\u0080":0,"\\u00f6":0}',
    '{"a":{"b":{"c":[[],{}]}},"A":"\\u007f\\u2028"}',
    "[9007199254740992,-9007199254740992,1E30,4.50,2e-3,0.000000000000000000000000001]",
)

BROKEN = (
    b"",
    b"nul",
    b"[1,]",
    b"{'a':1}",
    b"[01]",
    b"[NaN]",
    b"[Infinity]",
    b"1e400",
    b"9007199254740993",
    b'{"a":1,"a":1}',
    b'{"a":1,"\\u0061":2}',
    b'"\\ud800"',
    b'{"\\udc00":1}',
    b'"\xff"',
    b'"\xed\xa0\x80"',
    b"\xef\xbb\xbf{}",
    b'"\x01"',
    b"{}{}",
    b"[" * 65 + b"]" * 65,
)


def build(folder: Path) -> None:
    """Write manifests.json."""
    write(
        folder / "manifests.json",
        "Canonical JSON (RFC 8785), published manifests, digests, and records of whole surveys.",
        [_numbers(), _texts(), _broken(), _manifests(), _reports()],
    )


def _numbers() -> Group:
    group = Group(
        "numbers",
        "How a double is written.",
        {"bits": "the double, big-endian, 16 hexadecimal digits", "json": "its canonical form"},
    )
    for bits in DOUBLES:
        (number,) = struct.unpack(">d", bytes.fromhex(bits))
        group.add(bits=bits, json=canonical_json(number).decode())
    return group


def _texts() -> Group:
    group = Group(
        "texts",
        "JSON and its canonical form.",
        {"text": "JSON", "canonical": "UTF-8 bytes of the canonical form, hexadecimal"},
    )
    for text in TEXTS:
        group.add(text=text, canonical=canonical_json(parse_json(text)).hex())
    return group


def _broken() -> Group:
    group = Group(
        "refused_texts",
        "Bytes that are not one unambiguous JSON value, and are refused.",
        {"bytes": "hexadecimal"},
    )
    for data in BROKEN:
        try:
            parse_json(data)
        except InvalidJson:
            group.add(bytes=data.hex())
        else:
            raise AssertionError(data)
    return group


def _manifests() -> Group:
    group = Group(
        "manifests",
        "Drafts as an author may write them, and what is published.",
        {
            "draft": "the draft as JSON",
            "published": "the published form as JSON",
            "canonical_size": "bytes of its canonical form",
            "digest": "SHA-256 of its canonical form",
            "record_size": "bytes of a record",
            "fields": "attribute, offset and size of each field of a record",
        },
    )
    for draft in DRAFTS:
        published = Manifest.from_dict(draft).resolve()
        group.add(
            draft=draft,
            published=published.to_dict(),
            canonical_size=len(published.canonical),
            digest=published.digest,
            record_size=published.layout.record_size,
            fields=[[one.name, one.offset, one.size] for one in published.layout.fields],
        )
    return group


def _reports() -> Group:
    group = Group(
        "surveys",
        "Records of whole surveys, from words that stand for a device's randomness.",
        {
            "manifest": "place of the survey in the list of manifests",
            "answers": "category of each attribute; null or absent for the missing category, or "
            "for a follow-up that is not asked; the options that are selected, of a select-all",
            "codes": "code of each attribute, in record order",
            "words": "64-bit words offered, 16 hexadecimal digits each",
            "consumed": "how many of them are taken, attribute after attribute",
            "record": "the record, hexadecimal",
            "clear": "what the record holds in clear",
        },
    )
    for place, draft in enumerate(DRAFTS):
        published = Manifest.from_dict(draft).resolve()
        for row in range(4):
            answers = _answers(published, row)
            codes = published.layout.code_answers(answers)
            words = take(1000 * place + row, _enough(published))
            bits = ReplayBits(words)
            record = published.layout.encode(codes, bits)
            group.add(
                manifest=place,
                answers=answers,
                codes=list(codes.values()),
                words=[hex64(word) for word in words[: bits.consumed]],
                consumed=bits.consumed,
                record=record.hex(),
                clear=clear_answers(published.layout, record),
            )
    return group


def _answers(published: Published, row: int) -> dict[str, str | list[str] | None]:
    answers: dict[str, str | list[str] | None] = {}
    codes: dict[str, int] = {}
    for select in published.selects:
        texts = [published.attribute(name).question or "" for name in select.attributes]
        # As few as there may be, as many, the last ones, and every second one.
        few, many = texts[: select.at_least], texts[: select.at_most]
        answers[select.name] = [few, many, texts[-select.at_most :], texts[1::2]][row]
    options = {name for select in published.selects for name in select.attributes}
    for attribute in published.attributes:
        name, k = attribute.name, attribute.answer_codes - (attribute.ask_if is not None)
        if name in options:
            continue
        values = attribute.number.values if attribute.number else len(attribute.categories)
        if not asks(published.layout.routes, name, codes):
            codes[name] = k
            if row % 2:
                answers[name] = None if row == 1 else NOT_ASKED
            continue
        codes[name] = code = [0, k - 1, k // 2, (7 * row) % k][row]
        if code == values:
            if row % 2:
                answers[name] = None
            continue
        answers[name] = attribute.answer_of(code)
    return answers


def _enough(published: Published) -> int:
    most: dict[str, Any] = {"GRR": 1, "BLH": 3, "OLH": 3}
    of_masks = sum(len(draw.blocks) for draw in published.draws)
    # A number takes one word more, and hardly ever another.
    return of_masks + sum(2 + most.get(one.oracle.name, one.k + 1) for one in published.blocks)
