"""Numbers: questions that are answered by a whole number between two limits.

A number that is randomised has a few anchors, the first of which is its low limit and the last its
high one. The device draws one of the two anchors beside the answer x, a_i <= x < a_(i+1): a_(i+1)
with probability (x - a_i) / (a_(i+1) - a_i), else a_i. So the anchor is x on average, exactly, and
only the anchor is randomised: to everybody but the device the question has the anchors as its
categories. A number in clear has all its values as categories, and is sent as it is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from hushpoll_protocols import K_MAX, Bits, InvalidParameter
from hushpoll_protocols.errors import refusal_of
from hushpoll_protocols.thresholds import Q
from hushpoll_shared.spelling.canonical import check_keys
from hushpoll_shared.spelling.json_values import JsonMembers, members_of
from hushpoll_shared.spelling.text import check_text, normalized, show

LARGEST_NUMBER: Final = 10**12
"""The largest limit, whatever its sign: differences of two are exact in every language."""
UNIT_LENGTH: Final = 40
MEAN: Final = "mean"
QUANTILES: Final = "quantiles"
AIMS: Final = (MEAN, QUANTILES)
"""What a draft's anchors may be chosen for."""
KEYS: Final = ("low", "high", "unit")
"""Fields of a published number."""
DRAFT_KEYS: Final = (*KEYS, "anchors", "for")


@dataclass(frozen=True)
class Number:
    """The limits of a question that is answered by a whole number."""

    low: int
    """Least answer, included, in [-10^12, 10^12]."""
    high: int
    """Greatest answer, included, in [-10^12, 10^12]."""
    unit: str | None = None
    """What is counted, up to 40 characters."""
    anchors: tuple[int, ...] = ()
    """Those that a draft's author wants; else they are chosen when it is published."""
    aim: str = MEAN
    """What a draft's anchors are chosen for: ``mean`` or ``quantiles``."""

    @property
    def values(self) -> int:
        """How many answers there are, without the missing one."""
        return self.high - self.low + 1

    def to_dict(self) -> JsonMembers:
        """Return the number as JSON, without what is absent."""
        document = members_of(self, *KEYS)
        if self.anchors:
            document["anchors"] = list(self.anchors)
        if self.aim != MEAN:
            document["for"] = self.aim
        return document

    def published(self) -> Number:
        """Return the number without what only a draft says."""
        return Number(self.low, self.high, self.unit)

    def check(self, where: str, categories: Sequence[str], *, clear: bool) -> None:
        """Refuse limits that cannot be, and categories that are not anchors of them."""
        _check_limits(self, f"{where}.number")
        if self.unit is not None:
            check_text(self.unit, field=f"{where}.number.unit", longest=UNIT_LENGTH)
        path = f"{where}.categories"
        try:
            anchors = [int(category) for category in categories]
        except ValueError:
            anchors = []
        if not anchors or [str(anchor) for anchor in anchors] != list(categories):
            raise refusal_of(path)(
                f"is {show(list(categories))}; the categories of a number are its anchors, whole "
                "numbers in digits: publish the manifest again"
            )
        _check_anchors(anchors, self, path)
        if clear and len(anchors) != self.values:
            raise refusal_of(path)(
                f"has {len(anchors)} values, and {where} leaves in clear, so it has all "
                f"{self.values} from {self.low} to {self.high}; publish the manifest again"
            )

    def value_of(self, answer: object) -> int | None:
        """Return an answer as a number within the limits; None if it is none."""
        if isinstance(answer, str):
            try:
                value = int(answer)
            except ValueError:
                return None
            if str(value) != answer:
                return None
        elif type(answer) is int:
            value = answer
        else:
            return None
        return value if self.low <= value <= self.high else None


def draw_anchor(anchors: Sequence[int], value: int, bits: Bits) -> int:
    """Return the place of the anchor that stands for a value, which is the value on average.

    The anchors increase, and the value is between their ends. One word is taken, and one more where
    it is 2^64 mod gap from the end.
    """
    place, part, gap = place_of(anchors, value)
    word = bits.word()
    while word >= Q - Q % gap:
        word = bits.word()
    return place + (word % gap < part)


def place_of(anchors: Sequence[int], value: int) -> tuple[int, int, int]:
    """Return the place of the anchor below a value, how far it is from it, and from the next."""
    place = min(bisect_right(anchors, value), len(anchors) - 1) - 1
    return place, value - anchors[place], anchors[place + 1] - anchors[place]


def read_number(value: object, *, where: str, published: bool) -> Number | None:
    """Read the field `number` of a draft or of a published survey."""
    if value is None:
        return None
    path = f"{where}.number"
    if not isinstance(value, Mapping):
        raise refusal_of(path)(
            f"is {show(value)}; it is a mapping with low, high and a unit, such as {{low: 0, high: "
            "5000, unit: euros}"
        )
    check_keys(value, frozenset(KEYS if published else DRAFT_KEYS), KEYS[:2], where=path)
    for key in ("unit", "anchors", "for"):
        if published and key in value and value[key] is None:
            raise refusal_of(f"{path}.{key}")("is null; leave it out")
    number = Number(
        value["low"],
        value["high"],
        cast("str | None", normalized(value.get("unit"))),
        _anchors(value.get("anchors"), path),
        MEAN if value.get("for") is None else value["for"],
    )
    _check_limits(number, path)
    if number.anchors:
        _check_anchors(number.anchors, number, f"{path}.anchors")
    if number.aim not in AIMS:
        raise refusal_of(f"{path}.for")(
            f"is {show(number.aim)}; anchors are chosen for one of {', '.join(AIMS)}: name one, or "
            "leave it out"
        )
    if number.anchors and value.get("for") is not None:
        raise InvalidParameter(
            f"{path} has anchors and for; for says what anchors are chosen for where none are "
            "named: remove one of them",
            field=f"{path}.for",
        )
    return number


def draft_categories(number: Number, where: str, *, clear: bool, missing: bool) -> tuple[str, ...]:
    """Return the categories of a number in a draft: all values, or the anchors as far as known."""
    path = f"{where}.number"
    if not clear:
        return tuple(map(str, number.anchors or (number.low, number.high)))
    if number.anchors or number.aim != MEAN:
        key = "anchors" if number.anchors else "for"
        raise InvalidParameter(
            f"{path} has {key}, and {where} leaves in clear, as its value: remove {key}, or make "
            "its role sensitive",
            field=f"{path}.{key}",
        )
    if number.values + missing > K_MAX:
        raise refusal_of(path)(
            f"has the {number.values} values from {number.low} to {number.high}; a number that "
            f"leaves in clear has at most {K_MAX - missing}: make its role sensitive, which has no "
            "such limit, or ask in a larger unit"
        )
    return tuple(map(str, range(number.low, number.high + 1)))


def _remedy(limit: object) -> str:
    """Return what to write in place of a limit that is none."""
    if isinstance(limit, str):
        return "write it in digits alone, such as 1000, without quotes in YAML"
    if isinstance(limit, int) and not isinstance(limit, bool):
        return "count in a larger unit"
    return "count in whole units, such as cents for euros with cents"


def _check_limits(number: Number, path: str) -> None:
    for key, limit in (("low", number.low), ("high", number.high)):
        if type(limit) is not int or abs(limit) > LARGEST_NUMBER:
            raise refusal_of(f"{path}.{key}")(
                f"is {show(limit)}; it is an integer in [-{LARGEST_NUMBER}, {LARGEST_NUMBER}]: "
                f"{_remedy(limit)}"
            )
    if not number.low < number.high:
        raise InvalidParameter(
            f"{path} goes from low {number.low} to high {number.high}; low is less than high: "
            "correct them",
            field=f"{path}.high",
        )


def _check_anchors(anchors: Sequence[int], number: Number, path: str) -> None:
    for place, anchor in enumerate(anchors):
        if not number.low <= anchor <= number.high:
            raise InvalidParameter(
                f"{path}[{place}] is {anchor}, outside [{number.low}, {number.high}], the limits "
                "of the number: correct it",
                field=path,
            )
        if place and not anchors[place - 1] < anchor:
            raise refusal_of(path)(
                f"has {anchor} after {anchors[place - 1]}; anchors increase: sort them, and name "
                "each once"
            )
    if anchors[0] != number.low or anchors[-1] != number.high:
        raise refusal_of(path)(
            f"goes from {anchors[0]} to {anchors[-1]}; the first anchor is the low limit, "
            f"{number.low}, and the last the high one, {number.high}: add them"
        )
    if len(anchors) > K_MAX:
        raise refusal_of(path)(
            f"has {len(anchors)} entries; a number has 2 to {K_MAX} anchors: remove some"
        )


def _anchors(value: object, path: str) -> tuple[int, ...]:
    if value is None:
        return ()
    if (
        not isinstance(value, list | tuple)
        or len(value) < 2
        or not all(type(anchor) is int for anchor in value)
    ):
        raise refusal_of(f"{path}.anchors")(
            f"is {show(value)}; it is a list of two or more integers from the low to the high "
            "limit, such as [0, 1000, 5000]: correct it, or leave it out"
        )
    return tuple(value)
