"""Where a raw file comes from: a local path, or a download that is checked.

A download that stops half-way or grows without end must not become data, so its length is compared
with the one that the server declares. After cleaning, a digest tells whether the rows are the
paper's.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pandas as pd

from hushpoll_protocols.errors import InvalidParameter, TransportError
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
        Its name on the disk; the ending says its format.
    """

    url: str
    file: str


def read_table(path: Path, file: str, field: str) -> pd.DataFrame:
    """Read a CSV file with a header.

    Messages name the source's file and the field that gave the path.
    """
    try:
        return pd.read_csv(path)
    except ValueError as error:
        raise InvalidParameter(
            f"{path} is no CSV file ({' '.join(str(error).split())}); give {file}", field=field
        ) from None


def download(source: Source, folder: Path, *, url: str | None = None) -> Path:
    """Download a source into a folder, and check it.

    Parameters
    ----------
    source : Source
        What to download.
    folder : Path
        Where to put it.
    url : str, optional
        A mirror of it, https unless on this machine.

    Raises
    ------
    InvalidParameter
        For a URL of another scheme.
    TransportError
        If the file cannot be downloaded whole.
    OSError
        If it cannot be written.
    """
    address = _checked(source.url if url is None else url)
    path = folder / source.file
    remedy = "try again, or give the file with --from"
    # Imported here, since most commands download nothing.
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
            _receive(answer, stream, address)
    except requests.RequestException as error:
        raise TransportError(
            f"{address} could not be downloaded ({type(error).__name__}); {remedy}",
            retryable=True,
        ) from None
    return path


def _receive(answer: Any, stream: Any, address: str) -> None:
    size = 0
    for part in answer.iter_content(_PART):
        size += len(part)
        if size > LARGEST:
            raise TransportError(
                f"{address} is larger than {LARGEST:,} bytes, which no source here is; give the "
                "file with --from",
                retryable=False,
            )
        stream.write(part)
    declared = answer.headers.get("Content-Length")
    encoded = answer.headers.get("Content-Encoding")
    if declared is not None and encoded is None and int(declared) != size:
        raise TransportError(
            f"{address} ended after {size:,} of {int(declared):,} bytes; try again, or give the "
            "file with --from",
            retryable=True,
        )


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
