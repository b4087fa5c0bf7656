"""How a survey is shown beside its words: ends of scales, the order of answers, the logo.

None of it changes what is sent: the code of an answer is its place in the manifest, however the
answers are laid out, and a logo is no part of a record.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from hushpoll_protocols.errors import refusal_of
from hushpoll_shared.spelling.canonical import check_keys
from hushpoll_shared.spelling.text import CATEGORY_LENGTH, check_text, normalized, show

ALT_LENGTH: Final = 200
FEWEST_SHUFFLED: Final = 2
IMAGE_BYTES: Final = 256 * 1024
"""Bytes of a logo, at most: a page is loaded over a slow network, too."""
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Shuffle:
    """That a device shows the answers in an order that it draws."""

    last: int = 0
    """How many of the last categories keep their place, at least 0; a missing category always does.
    """

    def to_dict(self) -> dict[str, int]:
        """Return it as JSON, without what is absent."""
        return {"last": self.last} if self.last else {}

    def check(self, where: str, count: int, of: str = "categories") -> None:
        """Refuse to keep so many of `count` categories or items in place that only one moves."""
        if count - self.last < FEWEST_SHUFFLED:
            raise refusal_of(f"{where}.last")(
                f"is {self.last}, and the question has {count} {of}; at least {FEWEST_SHUFFLED} "
                "change places: lower it, or leave shuffle out"
            )


@dataclass(frozen=True)
class Logo:
    """An image that a server keeps, and what is read where it is not seen."""

    image: str
    """SHA-256 of the image's bytes, 64 lower-case hexadecimal digits."""
    alt: str
    """Up to 200 characters."""

    def __post_init__(self) -> None:
        if not isinstance(self.image, str) or _DIGEST.fullmatch(self.image) is None:
            raise refusal_of("logo.image")(
                f"is {show(self.image)}; it is the SHA-256 of an image that the server keeps, 64 "
                "characters out of 0-9 and a-f, and no address: upload the image on the dashboard "
                "or by hushpoll draft image FILE, which tells it"
            )
        check_text(self.alt, field="logo.alt", longest=ALT_LENGTH)

    def to_dict(self) -> dict[str, str]:
        """Return it as JSON."""
        return {"image": self.image, "alt": self.alt}


def read_ends(value: object, *, where: str) -> tuple[str, str] | None:
    """Read the texts at the two ends of a scale; `check_ends_of_scale` checks them."""
    if value is None:
        return None
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise refusal_of(f"{where}.ends")(
            f"is {show(value)}; give a list of two texts, of the first and of the last answer, "
            "such as [not at all, completely]"
        )
    return cast("tuple[str, str]", tuple(map(normalized, value)))


def check_ends_of_scale(ends: tuple[str, str], *, where: str) -> None:
    """Refuse ends that are no texts, or that are the same."""
    for place, end in enumerate(ends):
        check_text(end, field=f"{where}.ends[{place}]", longest=CATEGORY_LENGTH)
    if ends[0] == ends[1]:
        raise refusal_of(f"{where}.ends")(
            f"has {show(ends[0])} twice; the two ends of a scale differ: correct one"
        )


def read_shuffle(value: object, *, where: str) -> Shuffle | None:
    """Read whether answers are shuffled."""
    if value is None:
        return None
    path = f"{where}.shuffle"
    if not isinstance(value, Mapping):
        raise refusal_of(path)(
            f"is {show(value)}; it is a mapping, {{}} for all answers, or {{last: 1}} where the "
            "last one keeps its place"
        )
    check_keys(value, frozenset({"last"}), (), where=path)
    last = value.get("last", 0)
    if type(last) is not int or last < 0:
        raise refusal_of(f"{path}.last")(
            f"is {show(last)}; it is how many of the last categories keep their place, an integer "
            "from 0: correct it, or leave it out"
        )
    return Shuffle(last)


def read_logo(value: object) -> Logo | None:
    """Read the logo of a survey; refuses an address in place of an image that the server keeps."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise refusal_of("logo")(
            f"is {show(value)}; it is a mapping with image, the SHA-256 of an image that the "
            "server keeps, and alt, what is read in its place; an address of another server would "
            "tell it who answers: upload the image"
        )
    check_keys(value, frozenset({"image", "alt"}), ("image", "alt"), where="logo")
    return Logo(value["image"], cast("str", normalized(value["alt"])))
