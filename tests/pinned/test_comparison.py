"""A changed result is seen, and another processor's last bit is not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pinned.comparison import differences
from pinned.summaries import digest, facts, numbers

PINNED = {
    "records": {"sha256": "ab"},
    "share": 0.25,
    "learned": {"scores": {"sha256": "cd", "mean": 0.5}, "metrics": {"SPD": "0.125"}},
}


def changed(path: str, value: object) -> dict:
    copy = {key: dict(one) if isinstance(one, dict) else one for key, one in PINNED.items()}
    if path == "share":
        return copy | {"share": value}
    if path == "records":
        return copy | {"records": {"sha256": value}}
    part = "scores" if path in ("sha256", "mean") else "metrics"
    copy["learned"][part] = copy["learned"][part] | {path: value}
    return copy


@pytest.mark.parametrize(
    ("path", "value", "same", "seen"),
    [
        ("records", "ef", True, True),
        ("records", "ef", False, True),
        ("share", math.nextafter(0.25, 1), True, False),
        ("share", 0.25 * (1 + 1e-11), True, True),
        ("share", 0.25 * (1 + 1e-11), False, False),
        ("share", 0.2501, False, True),
        ("sha256", "ef", True, True),
        ("sha256", "ef", False, False),
        ("SPD", "0.12500000000000003", True, True),
        ("SPD", "0.12500000000000003", False, False),
        ("SPD", "0.225", False, True),
        ("mean", 0.7, False, True),
    ],
)
def test_what_differs_is_seen_where_it_must_be(path, value, same, seen) -> None:
    found = list(differences(PINNED, changed(path, value), same=same))
    assert len(found) == seen


def test_an_iteration_that_ended_elsewhere_is_not_seen_on_another_processor() -> None:
    pinned, other = ({"maximum likelihood": [0.25 + shift]} for shift in (0, 1e-5))
    assert not list(differences(pinned, other, same=False))
    assert list(differences(pinned, other, same=True))


def test_the_last_bit_is_seen_where_all_bits_are_asked_for() -> None:
    other = changed("share", math.nextafter(0.25, 1))
    assert len(list(differences(PINNED, other, same=True, strict=True))) == 1


@pytest.mark.parametrize("other", [{}, PINNED | {"more": 1}, PINNED | {"share": "0.25"}])
def test_values_that_are_missing_new_or_of_another_type_are_seen(other) -> None:
    assert list(differences(PINNED, other, same=True))


@pytest.mark.parametrize("place", [0, 3, 40, 99])
def test_every_element_of_a_long_array_counts(place) -> None:
    values = np.linspace(0, 1, 100)
    other = values.copy()
    other[place] += 1e-9
    assert list(differences(numbers(values), numbers(other), same=True))
    assert digest(values) != digest(other)


def test_an_exchange_of_two_elements_is_seen() -> None:
    values = np.linspace(0, 1, 100)
    other = values.copy()
    other[[20, 70]] = other[[70, 20]]
    assert list(differences(numbers(values), numbers(other), same=True))


def test_sentences_are_no_facts_and_conclusions_are() -> None:
    document = {"reason": "the least total variance of all", "conclusion": "cannot conclude"}
    assert facts(document) == {"conclusion": "cannot conclude"}
