"""Output on a terminal or a pipe that cannot show every character: plain characters stand in.

A message on a terminal in cp1252, Latin-1 or ASCII must not end a command. What such an encoding
has is written in it; of other characters, the nearest plain one is, or a question mark. JSON has
escapes instead, which stand for the same texts. Files are always UTF-8.
"""

from __future__ import annotations

import codecs
import sys
import unicodedata
from typing import Final, TextIO

HANDLER: Final = "hushpoll-plain"
# click takes a stream in ASCII for a mistake of the system, and would write UTF-8 to it.
_PLAIN_ASCII: Final = "hushpoll_plain_ascii"
_NEAREST: Final = {
    **dict.fromkeys("‘’‚‛′", "'"),
    **dict.fromkeys("“”„‟″«»", '"'),
    **dict.fromkeys("‐‑‒–—―−", "-"),
    **dict.fromkeys("•·●◦", "*"),
    **dict.fromkeys("→⇒", ">"),
    **dict.fromkeys("←⇐", "<"),
    **dict.fromkeys("│┃║╎┆┊", "|"),
    **dict.fromkeys("─━═╌┄┈╴╶╸╺╾╼", "-"),
    **dict.fromkeys("█▉▊▋▌▍▎▏▓▒░", "#"),
    "…": "...",
    "×": "x",
    "±": "+/-",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "≈": "~",
    "∞": "inf",
    "ε": "epsilon",
    "δ": "delta",
    "π": "pi",
    "σ": "sigma",
    "√": "sqrt",
    "∈": "in",
    "ß": "ss",
    "€": "EUR",
}


def install() -> None:
    """Let standard output and standard error of this process never fail for a character."""
    codecs.register_error(HANDLER, _plain)
    codecs.register(_lookup)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is None:  # another program's stream, which knows what it takes
            continue
        encoding = _PLAIN_ASCII if _is(stream, "ascii") else None
        reconfigure(encoding=encoding, errors=HANDLER)


def takes_all(stream: TextIO) -> bool:
    """Return whether a stream's encoding has every character."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        return codecs.lookup(encoding).name.startswith("utf")
    except LookupError:
        return False


def _is(stream: TextIO, name: str) -> bool:
    try:
        return codecs.lookup(stream.encoding).name == name
    except (LookupError, TypeError):
        return False


def _lookup(name: str) -> codecs.CodecInfo | None:
    if name != _PLAIN_ASCII:
        return None
    ascii_ = codecs.lookup("ascii")
    return codecs.CodecInfo(
        ascii_.encode,
        ascii_.decode,
        streamreader=ascii_.streamreader,
        streamwriter=ascii_.streamwriter,
        incrementalencoder=ascii_.incrementalencoder,
        incrementaldecoder=ascii_.incrementaldecoder,
        name=_PLAIN_ASCII,
    )


def _plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return what stands in for characters that an encoding lacks; see `codecs.register_error`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(map(_nearest, lacking)), error.end


def _nearest(character: str) -> str:
    if character in _NEAREST:
        return _NEAREST[character]
    if "\u2500" <= character <= "\u257f":  # corners and crossings of a table's lines
        return "+"
    decomposed = unicodedata.normalize("NFKD", character)
    letters = "".join(one for one in decomposed if one.isascii() and one.isprintable())
    return letters or ("" if unicodedata.combining(character) else "?")
