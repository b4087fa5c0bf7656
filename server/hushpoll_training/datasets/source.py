"""Where a raw file comes from: a local path, or a download that is checked.

A download that stops half-way, grows without end or is not the file it should be must not become
data. What is known of a file beforehand (its size, its digest) is compared; what a server says of
its length is, too.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from hushpoll_protocols.errors import HushpollError, InvalidParameter, TransportError
from hushpoll_shared.spelling.text import show

TIMEOUT: Final = (10.0, 60.0)
"""Seconds to connect, and between two parts of the answer."""

LARGEST: Final = 2_000_000_000
_PART: Final = 1 << 20
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Source:
    """A public file.

    Attributes
    ----------
    url : str
        Where it is.
    file : str
        What it is called on the disk; the ending says what it is.
    size : int or None
        Bytes, where they are known.
    sha256 : str or None
        Digest, where it is known.
    """

    url: str
    file: str
    size: int | None = None
    sha256: str | None = None


def download(source: Source, folder: Path, *, url: str | None = None) -> Path:
    """Download a source into a folder, and check it.

    Parameters
    ----------
    source : Source
        What to download.
    folder : Path
        Where to put it.
    url : str, optional
        A mirror of it, https unless on this machine; checked alike.

    Raises
    ------
    InvalidParameter
        For a URL that is none.
    TransportError
        If the file cannot be had whole.
    HushpollError
        If it is another file than it should be.
    OSError
        If it cannot be written.
    """
    address = _checked(source.url if url is None else url)
    path = folder / source.file
    remedy = "try again, or give the file with --from"
    # Only who downloads pays for importing it.
    import requests

    try:
        with (
            requests.get(address, stream=True, timeout=TIMEOUT) as answer,
            path.open("wb") as stream,
        ):
            if answer.status_code != requests.codes.ok:
                raise TransportError(
                    f"{address} answered {answer.status_code}; {remedy}",
                    retryable=answer.status_code >= 500,
                    status=answer.status_code,
                )
            size, digest = _receive(answer, stream, address)
    except requests.RequestException as error:
        raise TransportError(
            f"{address} could not be downloaded ({type(error).__name__}: {error}); {remedy}",
            retryable=True,
        ) from None
    if source.size is not None and size != source.size:
        raise HushpollError(
            f"{address} gave {size:,} bytes, and the file has {source.size:,}; {remedy}"
        )
    if source.sha256 is not None and digest != source.sha256:
        raise HushpollError(
            f"{address} gave a file with SHA-256 {digest}, and it should be {source.sha256}: it is "
            "another file; give the right one with --from"
        )
    return path


def _receive(answer: Any, stream: Any, address: str) -> tuple[int, str]:
    size, digest = 0, hashlib.sha256()
    for part in answer.iter_content(_PART):
        size += len(part)
        if size > LARGEST:
            raise TransportError(
                f"{address} is larger than {LARGEST:,} bytes, which no source here is; give the "
                "file with --from",
                retryable=False,
            )
        digest.update(part)
        stream.write(part)
    declared = answer.headers.get("Content-Length")
    encoded = answer.headers.get("Content-Encoding")
    if declared is not None and encoded is None and int(declared) != size:
        raise TransportError(
            f"{address} ended after {size:,} of {int(declared):,} bytes; try again, or give the "
            "file with --from",
            retryable=True,
        )
    return size, digest.hexdigest()


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        host = None
    if host is None or not (
        parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)
    ):
        raise InvalidParameter(
            f"url is {show(url)}; it must begin with https:// (http:// only to this machine)",
            field="url",
        )
    return url
