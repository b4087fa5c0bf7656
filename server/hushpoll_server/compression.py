"""Compressed request bodies, expanded as they arrive, to a limit and not a piece further."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Final

import zstandard

from hushpoll_server.errors import Refused

_GZIP: Final = 16 + zlib.MAX_WBITS
_GZIP_PIECE: Final = 65_536
# Each one costs a copy of all that follows in a piece; empty ones would cost minutes.
GZIP_MEMBERS: Final = 64
# What a decompressor must offer (RFC 8878, section 3.1.1.1.2); a frame may ask for gigabytes.
ZSTD_WINDOW: Final = 8 * 2**20
# A block of four bytes may expand to 128 KiB, so that these become 4 MiB at most.
_ZSTD_STEP: Final = 128
# Bytes in which a frame has told its size, if it does.
_ZSTD_HEADER: Final = 18


class TooLarge(Exception):
    """A body would expand to more than its limit."""


def expand(coding: str, pieces: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """Expand a compressed body: one gzip stream of at most 64 members, or one zstd frame.

    A piece is asked for when what came before is expanded. At most 4 MiB beyond `limit` bytes are
    ever held; `TooLarge` is raised then. Only the end tells whether the body was whole: one that is
    cut off, damaged or followed by something else is refused.
    """
    expanded = 0
    for piece in CODINGS[coding](pieces, limit):
        expanded += len(piece)
        if expanded > limit:
            raise TooLarge
        if piece:
            yield piece


def _gunzip(pieces: Iterable[bytes], _limit: int) -> Iterator[bytes]:
    stream = zlib.decompressobj(_GZIP)
    members = 1
    for piece in pieces:
        rest, pending = piece, False
        while rest or pending:
            if stream.eof:
                members += 1
                if members > GZIP_MEMBERS:
                    raise _damaged("gzip")
                stream = zlib.decompressobj(_GZIP)
            try:
                expanded = stream.decompress(rest, _GZIP_PIECE)
            except zlib.error as error:
                raise _damaged("gzip") from error
            rest = stream.unused_data if stream.eof else stream.unconsumed_tail
            # It may have taken in all, and hold back what did not fit into a piece.
            pending = not stream.eof and len(expanded) == _GZIP_PIECE
            yield expanded
    if not stream.eof:
        raise _damaged("gzip")


def _unzstd(pieces: Iterable[bytes], limit: int) -> Iterator[bytes]:
    rest = iter(pieces)
    first = b""
    while len(first) < _ZSTD_HEADER and (piece := next(rest, b"")):
        first += piece
    try:
        declared = zstandard.get_frame_parameters(first).content_size
        if declared != zstandard.CONTENTSIZE_UNKNOWN and declared > limit:
            raise TooLarge
        # A frame that tells its size may ask for as much memory.
        decompressor = zstandard.ZstdDecompressor(max_window_size=max(ZSTD_WINDOW, limit))
        stream = decompressor.decompressobj()
        for piece in chain([first], rest):
            for start in range(0, len(piece), _ZSTD_STEP):
                if stream.eof:
                    raise _damaged("zstd")
                yield stream.decompress(piece[start : start + _ZSTD_STEP])
    except zstandard.ZstdError as error:
        raise _damaged("zstd") from error
    if not stream.eof or stream.unused_data:
        raise _damaged("zstd")


def _damaged(coding: str) -> Refused:
    return Refused(
        "invalid-request",
        f"the body is no complete {coding} stream, or something follows it; compress it again, "
        "or send it without Content-Encoding",
        field="body",
    )


CODINGS: Final[Mapping[str, Callable[[Iterable[bytes], int], Iterator[bytes]]]] = {
    "gzip": _gunzip,
    "zstd": _unzstd,
}
