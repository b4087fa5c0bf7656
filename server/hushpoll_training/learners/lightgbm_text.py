"""The structure of a saved model's trees, checked before LightGBM reads them.

LightGBM checks how long a tree's lists are and believes what is in them: a child or a column that
does not exist makes it read, or write, memory that is not its own. Here every line must be one that
:func:`hushpoll_training.save_model` writes, every list must have its length and its range, and the
children of every tree must make one tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

MOST_LEAVES: Final = 131_072
"""The most leaves of a tree; also the bound of the parameter."""

LARGEST_VALUE: Final = 1e100
"""The largest value of a leaf: scores of a million trees still add up to a number."""

_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]{0,18})")
_NUMBER: Final = re.compile(r"-?[0-9]{1,400}(\.[0-9]{1,400})?(e[+-][0-9]{1,3})?")
_RANGE: Final = re.compile(rf"none|\[{_NUMBER.pattern}:{_NUMBER.pattern}\]")
_PARAMETER: Final = re.compile(r"\[[a-z0-9_]+: [^\[\]]*\]")
_IMPORTANCE: Final = re.compile(r"[^ =]+=[0-9]{1,19}")

_HEADER: Final = (
    "tree",
    "version=v4",
    "num_class=1",
    "num_tree_per_iteration=1",
    "label_index=0",
)

# How long each list of a tree is: a value per leaf, or per split, of which there is one fewer.
_PER_SPLIT: Final = ("split_feature", "split_gain", "threshold", "decision_type")
_CHILDREN: Final = ("left_child", "right_child")
_PER_LEAF: Final = ("leaf_value", "leaf_weight", "leaf_count")
_PER_SPLIT_TOO: Final = ("internal_value", "internal_weight", "internal_count")

_INTEGERS: Final = {"split_feature", "decision_type", *_CHILDREN, "leaf_count", "internal_count"}
_NUMERICAL: Final = frozenset(range(0, 12, 2))
"""Kinds of decision on a number: bit 0 (a set of categories) is clear, the missing type 0 to 2."""


class UnsoundText(ValueError):
    """The text is no model that hushpoll has written; the message says where and why."""


def check_text(text: str, columns: Sequence[str]) -> None:
    """Refuse a ``model.txt`` that is not as :func:`hushpoll_training.save_model` writes it.

    The columns are the names of the features, as the manifest gives them.
    """
    if not text.isascii():
        raise UnsoundText("is not ASCII")
    lines = _Lines(text)
    for expected in _HEADER:
        lines.expect(expected)
    last = lines.value("max_feature_idx")
    lines.expect("objective=binary sigmoid:1")
    names = lines.value("feature_names").split(" ")
    if last != str(len(columns) - 1) or names != list(columns):
        raise UnsoundText("has other columns than the manifest")
    ranges = lines.value("feature_infos").split(" ")
    if len(ranges) != len(columns) or not all(map(_RANGE.fullmatch, ranges)):
        raise lines.unsound("does not hold one range per column")
    sizes = _integers(lines.value("tree_sizes").split(" "), lines)
    lines.expect("")
    for number, size in enumerate(sizes):
        start = lines.offset
        lines.expect(f"Tree={number}")
        _check_tree(lines, len(columns))
        if lines.offset - start != size:
            raise lines.unsound(f"ends a tree of {lines.offset - start} characters, not {size}")
    lines.expect("end of trees")
    _check_rest(lines)


class _Lines:
    """The lines of a text, one after the other, and how far they have been read."""

    def __init__(self, text: str) -> None:
        self._lines: Iterator[str] = iter(text.split("\n"))
        self.number = 0
        self.offset = 0

    def next(self) -> str:
        line = next(self._lines, None)
        if line is None:
            raise UnsoundText(f"ends after line {self.number}")
        self.number += 1
        self.offset += len(line) + 1
        return line

    def expect(self, expected: str) -> None:
        if self.next() != expected:
            raise self.unsound(f"is not {expected!r}")

    def value(self, name: str) -> str:
        key, equals, value = self.next().partition("=")
        if key != name or not equals:
            raise self.unsound(f"is not {name}")
        return value

    def unsound(self, fault: str) -> UnsoundText:
        return UnsoundText(f"has a line {self.number} that {fault}")


def _check_tree(lines: _Lines, columns: int) -> None:
    """Check the lines of one tree, after its number and with the two empty ones that end it."""
    (leaves,) = _integers([lines.value("num_leaves")], lines)
    if not 1 <= leaves <= MOST_LEAVES:
        raise lines.unsound(f"is outside [1, {MOST_LEAVES}]")
    lines.expect("num_cat=0")
    splits = leaves - 1
    for name in _PER_SPLIT:
        values = _list(lines, name, splits)
        if name == "split_feature" and not all(0 <= column < columns for column in values):
            raise lines.unsound(f"names a column outside [0, {columns - 1}]")
        if name == "decision_type" and not _NUMERICAL.issuperset(values):
            raise lines.unsound("has a decision that is not on a number")
    left, right = (_list(lines, name, splits) for name in _CHILDREN)
    _check_children(left, right, lines)
    for name in _PER_LEAF:
        # A tree that is a leaf alone has no weight, and its count may be missing too.
        values = _list(lines, name, leaves, empty=not splits and name != "leaf_value")
        if name == "leaf_value" and not all(abs(value) <= LARGEST_VALUE for value in values):
            raise lines.unsound(f"has a value beyond {LARGEST_VALUE:g}")
    for name in _PER_SPLIT_TOO:
        _list(lines, name, splits)
    lines.expect("is_linear=0")
    _numbers([lines.value("shrinkage")], lines)
    lines.expect("")
    lines.expect("")


def _check_children(left: Sequence[float], right: Sequence[float], lines: _Lines) -> None:
    """Refuse children that do not make one tree: split 0 is the root, ~child is a leaf.

    LightGBM numbers splits in the order in which it makes them, so a child comes after its parent;
    if besides each split but the root and each leaf is a child once, they make one tree.
    """
    splits = len(left)
    children = sorted([*left, *right])
    wanted = [*range(-splits - 1, 0), *range(1, splits)] if splits else []
    later = all(
        child < 0 or child > parent for side in (left, right) for parent, child in enumerate(side)
    )
    if children != wanted or not later:
        raise lines.unsound("ends children that do not make one tree")


def _check_rest(lines: _Lines) -> None:
    """Check what follows the trees: how often columns are used, and LightGBM's parameters."""
    lines.expect("")
    lines.expect("feature_importances:")
    while line := lines.next():
        if not _IMPORTANCE.fullmatch(line):
            raise lines.unsound("does not say how often a column is used")
    lines.expect("parameters:")
    while line := lines.next():
        if not _PARAMETER.fullmatch(line):
            raise lines.unsound("is no parameter")
    lines.expect("end of parameters")
    lines.expect("")
    lines.expect("pandas_categorical:null")
    lines.expect("")


def _list(lines: _Lines, name: str, length: int, *, empty: bool = False) -> list[float]:
    value = lines.value(name)
    texts = value.split(" ") if value else []
    if len(texts) != length and not (empty and not texts):
        raise lines.unsound(f"holds {len(texts)} values, not {length}")
    if name in _INTEGERS:
        return [*_integers(texts, lines)]
    return _numbers(texts, lines)


def _integers(texts: Sequence[str], lines: _Lines) -> list[int]:
    if not all(map(_INTEGER.fullmatch, texts)):
        raise lines.unsound("holds what is no whole number")
    numbers = [int(text) for text in texts]
    if any(abs(number) >= 2**31 for number in numbers):
        raise lines.unsound("holds a whole number beyond 31 bits")
    return numbers


def _numbers(texts: Sequence[str], lines: _Lines) -> list[float]:
    if not all(map(_NUMBER.fullmatch, texts)):
        raise lines.unsound("holds what is no number")
    numbers = [float(text) for text in texts]
    if any(abs(number) == float("inf") for number in numbers):
        raise lines.unsound("holds a number that is too large")
    return numbers
