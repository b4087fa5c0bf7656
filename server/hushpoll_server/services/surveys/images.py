"""Images that surveys show: told apart by their content, bounded, and kept by their hash."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.errors import Refused
from hushpoll_server.store.editing.images import ImageRow, ImageStore
from hushpoll_shared.spelling.text import printable
from hushpoll_shared.survey.questions.presentation import IMAGE_BYTES

MOST_PIXELS: Final = 2_000
"""Width and height of an image, at most."""

MOST_IMAGES: Final = 500
"""Images that a server keeps, at most."""

FORMATS: Final = "PNG, JPEG, WebP or GIF"
_PNG: Final = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True)
class Picture:
    """What the bytes of an image say of it: media type, width and height in pixels."""

    media_type: str
    width: int
    height: int


class Images:
    """Keeps images for the pages of surveys; `now` gives seconds since 1970, UTC."""

    def __init__(self, store: ImageStore, now: Callable[[], int]) -> None:
        self._store = store
        self._now = now

    def add(self, data: bytes, *, actor: str, name: str = "the image") -> tuple[str, Picture]:
        """Keep an image; return its digest, SHA-256 in hexadecimal, and what it is.

        `name` is what the file is called in messages. What `read_picture` refuses is refused, and
        more than :data:`MOST_IMAGES`.
        """
        picture = read_picture(data, name=name)
        digest = hashlib.sha256(data).hexdigest()
        row = ImageRow(
            digest=digest,
            media_type=picture.media_type,
            body=data,
            added_at=self._now(),
            added_by=actor,
        )
        if not self._store.add(row, most=MOST_IMAGES):
            raise Refused(
                "invalid-request",
                f"images are {MOST_IMAGES} on this server, of at most {MOST_IMAGES}; use one of "
                "them",
                field="image",
            )
        return digest, picture

    def find(self, digest: str) -> ImageRow:
        """Return an image, or refuse: ``not-found``."""
        row = self._store.find(digest) if len(digest) == 64 else None
        if row is None:
            raise Refused("not-found", "the server has no such image", field="image")
        return row


def read_picture(data: bytes, *, name: str = "the image") -> Picture:
    """Return what an image's content says that it is, whatever its name ends in.

    The whole file must be the image: what follows its end could be read as something else. Another
    kind of file is refused, and one that is cut or too large.
    """
    name = printable(name)[:100]
    if len(data) > IMAGE_BYTES:
        raise InvalidParameter(
            f"{name} has {len(data):,} bytes or more; a logo has at most {IMAGE_BYTES:,} "
            "(256 KiB): make it smaller, 600 pixels wide are enough",
            field="image",
        )
    reader = next((read for start, read in _READERS if data.startswith(start)), None)
    if reader is None or (data[:4] == b"RIFF" and data[8:12] != b"WEBP"):
        raise InvalidParameter(
            f"{name} is {_kind(data)}; a logo is {FORMATS}, told by its content and not by its "
            "name: save the picture in one of these formats",
            field="image",
        )
    try:
        picture = reader(data)
    except (IndexError, ValueError) as error:
        raise InvalidParameter(
            f"{name} begins as an image and is not one to its end ({error}); it may be cut, or "
            "have something behind it: save it anew",
            field="image",
        ) from None
    if not (0 < picture.width <= MOST_PIXELS and 0 < picture.height <= MOST_PIXELS):
        raise InvalidParameter(
            f"{name} has {picture.width} times {picture.height} pixels; a logo has 1 to "
            f"{MOST_PIXELS} each way: make it smaller",
            field="image",
        )
    return picture


def _kind(data: bytes) -> str:
    """Return what a file that is no image looks like."""
    start = data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if not data:
        return "empty"
    if start.startswith(b"%pdf-"):
        return "a PDF document"
    if start.startswith((b"<svg", b"<?xml", b"<!doctype svg")) and b"<svg" in data[:4096].lower():
        return "an SVG drawing, which can run scripts and load from other servers,"
    if start.startswith(b"<"):
        return "a page or an XML file"
    if start.startswith(b"pk\x03\x04"):
        return "a ZIP file or a document of an office program"
    if data[4:12] in (b"ftypavif", b"ftypheic"):
        return "an AVIF or HEIC picture, which not every browser shows,"
    return "of a kind that is not known"


def _png(data: bytes) -> Picture:
    at = len(_PNG)
    if data[at + 4 : at + 8] != b"IHDR":
        raise ValueError("no header")
    size = data[at + 8 : at + 16]
    while True:
        length, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        at += 12 + length
        if len(kind) < 4 or at > len(data):
            raise ValueError("it is cut")
        if kind == b"IEND":
            break
    _at_end(at, data)
    return Picture("image/png", int.from_bytes(size[:4], "big"), int.from_bytes(size[4:], "big"))


def _jpeg(data: bytes) -> Picture:
    at, size = 2, None
    while True:
        if data[at] != 0xFF:
            raise ValueError("no marker where one is due")
        marker = data[at + 1]
        if marker == 0xDA:
            break
        length = int.from_bytes(data[at + 2 : at + 4], "big")
        if marker == 0xFF:
            at += 1
            continue
        if length < 2:
            raise ValueError("a part without a length")
        # Frames of all codings; C4, C8 and CC are tables.
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            size = data[at + 5 : at + 9]
        at += 2 + length
    if size is None or len(size) < 4:
        raise ValueError("no size")
    if not data.endswith(b"\xff\xd9"):
        raise ValueError("no end")
    return Picture("image/jpeg", int.from_bytes(size[2:], "big"), int.from_bytes(size[:2], "big"))


def _webp(data: bytes) -> Picture:
    length = int.from_bytes(data[4:8], "little")
    _at_end(8 + length + length % 2, data)
    kind, body = data[12:16], data[20:]
    if kind == b"VP8X" and len(body) >= 10:
        width, height = (int.from_bytes(body[at : at + 3], "little") + 1 for at in (4, 7))
    elif kind == b"VP8L" and len(body) >= 5 and body[0] == 0x2F:
        bits = int.from_bytes(body[1:5], "little")
        width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    elif kind == b"VP8 " and len(body) >= 10 and body[3:6] == b"\x9d\x01\x2a":
        width, height = (int.from_bytes(body[at : at + 2], "little") & 0x3FFF for at in (6, 8))
    else:
        raise ValueError("no picture")
    return Picture("image/webp", width, height)


def _gif(data: bytes) -> Picture:
    if not data.endswith(b"\x3b") or len(data) < 14:
        raise ValueError("no end")
    return Picture(
        "image/gif",
        int.from_bytes(data[6:8], "little"),
        int.from_bytes(data[8:10], "little"),
    )


def _at_end(at: int, data: bytes) -> None:
    if at < len(data):
        raise ValueError(f"{len(data) - at} bytes stand behind its end")
    if at > len(data):
        raise ValueError("it is cut")


_READERS: Final[tuple[tuple[bytes, Callable[[bytes], Picture]], ...]] = (
    (_PNG, _png),
    (b"\xff\xd8\xff", _jpeg),
    (b"RIFF", _webp),
    (b"GIF87a", _gif),
    (b"GIF89a", _gif),
)
