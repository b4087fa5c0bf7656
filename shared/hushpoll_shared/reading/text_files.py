"""Text files, documents and secrets that people bring: UTF-8, with or without a byte order mark.

Editors put a mark before a text that nobody sees: left where it is, it becomes a part of a password
or of a name. A text in another encoding is refused and never guessed, since most bytes are letters
in every one of them.
"""

from __future__ import annotations

import codecs
import shlex
from pathlib import Path
from typing import IO, Any, Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.canonical import InvalidJson, parse_json

MARK: Final = "\ufeff"
MOST_SECRET_BYTES: Final = 1 << 16
_BLOCK: Final = 1 << 20

# What a file is that begins so, and is no text in UTF-8. The longer of two comes first.
_KINDS: Final = (
    (codecs.BOM_UTF32_LE, "text in UTF-32"),
    (codecs.BOM_UTF32_BE, "text in UTF-32"),
    (codecs.BOM_UTF16_LE, "text in UTF-16"),
    (codecs.BOM_UTF16_BE, "text in UTF-16"),
    (b"PK\x03\x04", "a workbook or another archive (ZIP)"),
    (b"\xd0\xcf\x11\xe0", "an old workbook (XLS)"),
    (b"PAR1", "a Parquet file, or a part of one"),
    (b"\x1f\x8b", "a compressed file (gzip)"),
    (b"%PDF-", "a PDF file"),
)
SAVE_AS_UTF8: Final = "save it as UTF-8 text"


def word(name: object) -> str:
    """Return the name of a file or a column so that a shell takes it for one word.

    A message may be copied into a terminal with the name in it: what a shell would run or expand
    stands in quotes. A name that cannot be printed is spelled with escapes.
    """
    text = str(name)
    return shlex.quote(text if text.isprintable() else ascii(text)[1:-1])


def text_of(content: bytes, *, name: str, field: str, remedy: str = SAVE_AS_UTF8) -> str:
    """Return the text of bytes in UTF-8 without a mark; refuses others by `name` with `remedy`."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        at = error.start
        raise not_utf8(content, at, content[at], name=name, field=field, remedy=remedy) from None
    if "\0" in text:
        at = content.index(b"\0")
        raise not_utf8(content, at, 0, name=name, field=field, remedy=remedy)
    return text.removeprefix(MARK)


def read_text(
    path: Path, *, field: str, remedy: str = SAVE_AS_UTF8, most: int | None = None
) -> str:
    """Return the text of a file of at most `most` bytes; see :func:`text_of`."""
    with path.open("rb") as file:
        content = file.read(-1 if most is None else most + 1)
    if most is not None and len(content) > most:
        raise InvalidParameter(
            f"the file {word(path)} is larger than {most} bytes; give a smaller one",
            field=field,
        )
    return text_of(content, name=word(path), field=field, remedy=remedy)


def read_secret(path: Path, *, field: str) -> str:
    """Return a password or a token: the only line of a file, with blanks and without its end."""
    remedy = "write the secret, and nothing else, into its only line, as text in UTF-8"
    text = read_text(path, field=field, remedy=remedy, most=MOST_SECRET_BYTES)
    secret = text.rstrip("\r\n")
    if not secret.strip() or "\n" in secret or "\r" in secret:
        lines = secret.count("\n") + 1 if secret.strip() else 0
        raise InvalidParameter(
            f"the file {word(path)} has {lines or 'no'} lines of text; {remedy}", field=field
        )
    return secret


def not_utf8(
    begin: bytes, at: int, byte: int, *, name: str, field: str, remedy: str = SAVE_AS_UTF8
) -> InvalidParameter:
    """Return the refusal of a file by its begin, and the place and value of its first bad byte."""
    kind = next((kind for start, kind in _KINDS if begin.startswith(start)), None)
    what = f"is no UTF-8 text, but {kind}" if kind else "is no UTF-8 text"
    return InvalidParameter(f"{name} {what} (byte {at} is 0x{byte:02x}); {remedy}", field=field)


def first_bad_byte(file: IO[bytes]) -> tuple[int, int] | None:
    """Return place and value of a file's first byte that is none of UTF-8, or NUL; None without."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    file.seek(0)
    read, waiting = 0, b""
    while True:
        block = file.read(_BLOCK)
        joined = waiting + block
        nul = joined.find(b"\0")
        try:
            decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            at = error.start if nul < 0 else min(nul, error.start)
            return read - len(waiting) + at, joined[at]
        if nul >= 0:
            return read - len(waiting) + nul, 0
        if not block:
            return None
        read += len(block)
        waiting = decoder.getstate()[0]


def read_document(path: Path, *, field: str, noun: str) -> Any:
    """Return the value of a file in UTF-8 that ends in .json, .yaml or .yml; errors say `noun`."""
    ending = path.suffix.lower()
    if ending not in {".json", ".yaml", ".yml"}:
        raise InvalidParameter(
            f"{noun} {word(path)} must end in .json, .yaml or .yml; give a file of JSON or YAML, "
            "and rename it if need be",
            field=field,
        )
    text = read_text(path, field=field)
    try:
        if not text.strip():
            raise InvalidParameter(
                f"{noun} is empty; write it, or give another file", field="manifest"
            )
        if ending == ".json":
            return parse_json(text)
        from hushpoll_shared.reading.yaml_reader import parse_yaml

        return parse_yaml(text)
    except InvalidParameter as error:
        kind = InvalidJson if isinstance(error, InvalidJson) else InvalidParameter
        raise kind(f"{word(path)}: {error}", field=error.field) from None
