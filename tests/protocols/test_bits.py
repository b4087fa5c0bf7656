"""Sources of randomness: the operating system's, never shared by a fork, and replayed words."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction

import pytest
from conformance import check_count
from exact_law import Q

from hushpoll_protocols import InvalidParameter, ReplayBits, SecureBits


def test_secure_words_are_uniform_in_every_bit() -> None:
    bits = SecureBits()
    words = [*bits.words(3000), *(bits.word() for _ in range(3000))]
    assert len(set(words)) == len(words)
    assert all(0 <= word < Q for word in words)
    for bit in range(64):
        check_count(sum(word >> bit & 1 for word in words), len(words), Fraction(1, 2))


def test_secure_bits_return_as_many_words_as_asked() -> None:
    bits = SecureBits()
    for count in (0, 1, 2, 65536):
        assert len(bits.words(count)) == count


def test_secure_words_are_read_from_the_operating_system_little_endian(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def urandom(size: int) -> bytes:
        asked.append(size)
        return bytes(i % 256 for i in range(1, size + 1))

    monkeypatch.setattr(os, "urandom", urandom)
    bits = SecureBits()
    assert bits.word() == 0x0807060504030201
    assert list(bits.words(2)) == [0x0807060504030201, 0x100F0E0D0C0B0A09]
    # Exactly the bytes of the words: nothing is kept for later, so a fork copies nothing.
    assert asked == [8, 16]


_FORK_TWICE = """
import os, sys
from hushpoll_protocols import SecureBits, create

bits, oracle = SecureBits(), create("OLH", k=74, epsilon="1")
# Drawn from before the fork: a buffer, if there were one, would now be copied.
bits.words(5)
for _ in range(2):
    child = os.fork()
    if child == 0:
        os.write(1, f"{bits.word():x} {oracle.randomize(3, bits).hex()}\\n".encode())
        os._exit(0)
    os.waitpid(child, 0)
os.write(1, f"{bits.word():x} {oracle.randomize(3, bits).hex()}\\n".encode())
"""


def test_forked_processes_draw_different_words() -> None:
    # In a process of its own: pytest's has threads, which a fork would not take along.
    run = subprocess.run(
        [sys.executable, "-c", _FORK_TWICE], capture_output=True, text=True, check=True
    )
    drawn = [line.split() for line in run.stdout.splitlines()]
    assert len(drawn) == 3
    assert len({word for word, _ in drawn}) == 3
    assert len({record for _, record in drawn}) == 3


def test_replayed_words_come_in_order_and_are_counted() -> None:
    bits = ReplayBits(iter([1, 2, 3, Q - 1]))
    assert bits.consumed == 0
    assert bits.word() == 1
    assert list(bits.words(2)) == [2, 3]
    assert list(bits.words(0)) == []
    assert bits.consumed == 3
    assert bits.word() == Q - 1
    with pytest.raises(InvalidParameter, match="5 words are needed, but 4 were given") as refusal:
        bits.word()
    assert refusal.value.field == "words"
    assert bits.consumed == 4


@pytest.mark.parametrize("word", [-1, Q, Q + 1])
def test_a_replayed_word_out_of_range_is_refused(word: int) -> None:
    with pytest.raises(InvalidParameter, match=rf"words\[1\] is {word}, outside \[0, 2\^64\)"):
        ReplayBits([0, word])
