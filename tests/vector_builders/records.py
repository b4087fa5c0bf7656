"""Records from given words, one attribute at a time, and what no device can have sent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hushpoll_protocols import PROTOCOLS, FrequencyOracle, MalformedRecord, ReplayBits, create
from hushpoll_shared.survey.questions.number import draw_anchor
from vector_builders.document import Group, hex64, write
from vector_builders.words import MASK, stream, take

# Domain sizes; of a protocol that is not named, those at which packed bits change.
SIZES = {
    "GRR": (2, 5, 74, 256, 257, 65536),
    "BLH": (2, 74, 65536),
    "OLH": (2, 5, 74, 65536),
    "SS": (2, 5, 8, 9, 41, 74),
}
PACKED = (2, 7, 8, 9, 41)
# Protocols whose records set bits independently, one word each.
UNARY = frozenset({"RAPPOR", "OUE", "THE"})
EPSILONS = ("0.5", "1", "4")


def build(folder: Path) -> None:
    """Write records.json."""
    oracle_fields = {
        "protocol": "name of the protocol",
        "k": "domain size",
        "epsilon": "decimal string",
        "parameters": "as published: g (OLH), omega (SS), theta (THE)",
    }
    group = Group(
        "records",
        "What randomising a value with given words gives.",
        {
            **oracle_fields,
            "value": "code of the answer, 0..k-1",
            "words": "64-bit words offered, in order, 16 hexadecimal digits each",
            "consumed": "how many of them are taken",
            "record": "the record, hexadecimal",
            "support": "the values that the record supports, ascending; left out for k > 300",
        },
    )
    malformed = Group(
        "malformed",
        "Bytes that no device could have sent.",
        {
            **oracle_fields,
            "record": "hexadecimal",
            "reason": "length, range, padding or popcount",
        },
    )
    seed = 100
    for name in PROTOCOLS:
        for k in SIZES.get(name, PACKED):
            for epsilon in EPSILONS:
                oracle = create(name, k=k, epsilon=epsilon)
                seed += 1
                for value, words in _draws(oracle, seed):
                    bits = ReplayBits(words)
                    record = oracle.randomize(value, bits)
                    group.add(
                        **_of(oracle),
                        value=value,
                        words=[hex64(word) for word in words],
                        consumed=bits.consumed,
                        record=record.hex(),
                        **({"support": list(oracle.support(record))} if k <= 300 else {}),
                    )
    for name in PROTOCOLS:
        for k in (5, 8, 74, 300):
            oracle = create(name, k=k, epsilon="1")
            for record in _spoiled(oracle):
                try:
                    oracle.check(record)
                except MalformedRecord as error:
                    malformed.add(**_of(oracle), record=record.hex(), reason=error.reason)
    anchors = Group(
        "anchors",
        "Which anchor stands for a number, by given words.",
        {
            "anchors": "increasing integers",
            "value": "the number, from the first to the last anchor",
            "words": "64-bit words offered, in order, 16 hexadecimal digits each",
            "consumed": "how many of them are taken",
            "place": "place of the anchor that is drawn",
        },
    )
    for between in ((0, 5000), (-3, 0, 1, 8, 40), (-(10**12), 10**12), (0, 3, 2**40)):
        values = {value + step for value in between for step in (-1, 0, 1)} | {sum(between) // 2}
        for value in sorted(values):
            if not between[0] <= value <= between[-1]:
                continue
            for words in ([0, 0], [MASK, 5], [2**63 + 12345, 1], take(value & MASK, 2)):
                bits = ReplayBits(words)
                place = draw_anchor(between, value, bits)
                anchors.add(
                    anchors=list(between),
                    value=value,
                    words=[hex64(word) for word in words],
                    consumed=bits.consumed,
                    place=place,
                )
    write(
        folder / "records.json",
        "Records of single values, from words that stand for a device's randomness.",
        [group, malformed, anchors],
    )


def _of(oracle: FrequencyOracle) -> dict[str, Any]:
    return {
        "protocol": oracle.name,
        "k": oracle.k,
        "epsilon": format(oracle.epsilon, "f"),
        "parameters": dict(oracle.parameters),
    }


def _draws(oracle: FrequencyOracle, seed: int) -> Iterator[tuple[int, list[int]]]:
    """Yield values with words: random ones, and those at the edges of the thresholds."""
    last = oracle.k - 1
    if oracle.name not in SIZES and oracle.name not in UNARY:
        # How many words it takes is not known here, so that it is offered more than enough.
        more = take(seed, 4 * oracle.k + 8)
        firsts = [[], *([word] for edge in oracle.thresholds.values() for word in (edge - 1, edge))]
        yield from ((value, [*first, *more]) for value in (0, last) for first in firsts)
        return
    count = {"GRR": 1, "BLH": 3, "OLH": 3}.get(oracle.name, oracle.k)
    if oracle.name == "SS":
        count = oracle.parameters["omega"] + 1  # type: ignore[operator]  # omega is an int
    words = stream(seed)
    for value in (0, last) if count > 10 else (0, last // 2, last):
        yield value, [next(words) for _ in range(count)]
    for edge in oracle.thresholds.values():
        if count <= 10:
            head = take(seed, count - 1)
            # The threshold decides by the first word (SS), the last (hashing) or every word (bits).
            for word in (edge - 1, edge):
                if oracle.name == "SS":
                    yield last, [word, *head, *take(seed + 7, 4)]
                elif oracle.name in {"GRR", "BLH", "OLH"}:
                    yield 0, [*head, word]
                else:
                    yield last, [word] * count
    if count <= 10 and oracle.name != "SS":
        yield 0, [0] * count
        yield last, [MASK] * count
    if oracle.name == "SS":
        # The largest word is refused for every range that is no power of two: draw again.
        yield 0, [MASK, *[MASK, 0] * oracle.k]


def _spoiled(oracle: FrequencyOracle) -> Iterator[bytes]:
    sound = oracle.randomize(0, ReplayBits([0] * (2 * oracle.k + 3)))
    yield sound[:-1]
    yield sound + b"\x00"
    yield b""
    yield b"\xff" * len(sound)
    yield bytes(len(sound))
    yield sound[:-1] + bytes([sound[-1] | 0x80])
    yield sound[:-1] + bytes([sound[-1] | 0x10])
    if oracle.record_size <= 2:
        yield oracle.k.to_bytes(oracle.record_size, "little")
