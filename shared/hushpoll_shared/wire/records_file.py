"""Reading and writing the file of records that an analyst exports, with its manifest inside.

Layout: ``HREC``, version byte 2, digest (32 bytes), length of the manifest (u32) and n (u64), both
little-endian, the canonical manifest, then n rows of L bytes. No ids, and no order that means
anything. Version 1 had no n, so a file that was cut between two rows passed for a smaller survey.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Final

from hushpoll_protocols import InvalidParameter, ManifestRefused, MissingExtra
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.reports import REPORTS_MAGIC

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

RECORDS_MEDIA_TYPE: Final = "application/vnd.hushpoll.records"
RECORDS_MAGIC: Final = b"HREC"
RECORDS_VERSION: Final = 2
_FIXED: Final = 4 + 1 + 32 + 4
_COUNT: Final = 8
_LARGEST_MANIFEST: Final = 2**28


def pack_records_header(published: Published, n: int) -> bytes:
    """Return the bytes that open a file of n records: all of it but the rows."""
    manifest = published.canonical
    return (
        RECORDS_MAGIC
        + bytes([RECORDS_VERSION])
        + bytes.fromhex(published.digest)
        + len(manifest).to_bytes(4, "little")
        + n.to_bytes(_COUNT, "little")
        + manifest
    )


def read_records_header(stream: BinaryIO) -> tuple[Published, int | None]:
    """Read a file of records up to its first row, and check the manifest against its digest.

    Return the survey and the number of rows, which files of version 1 do not say.
    """
    head = stream.read(_FIXED)
    if head[:4] == REPORTS_MAGIC:
        raise InvalidParameter(
            "this is a file of reports, as hushpoll simulate --to-file writes it, and no file of "
            "records; send it with hushpoll submit and, once the server has sealed it, give the "
            "file that hushpoll export makes",
            field="records",
        )
    if len(head) < _FIXED or head[:4] != RECORDS_MAGIC:
        raise InvalidParameter(
            f"this is no file of records: it must start with {RECORDS_MAGIC.decode()}; "
            "give a file made by hushpoll export",
            field="records",
        )
    if head[4] not in (1, RECORDS_VERSION):
        raise InvalidParameter(
            f"the file of records has version {head[4]}; this version reads 1 and "
            f"{RECORDS_VERSION}: update hushpoll",
            field="records",
        )
    length = int.from_bytes(head[37:41], "little")
    n = int.from_bytes(stream.read(_COUNT), "little") if head[4] == RECORDS_VERSION else None
    manifest = stream.read(length) if length <= _LARGEST_MANIFEST else b""
    if len(manifest) != length:
        raise InvalidParameter(
            f"the file of records ends inside its manifest of {length} bytes; export it again",
            field="records",
        )
    published = Published.from_json(manifest)
    if published.digest != head[5:37].hex():
        raise ManifestRefused(
            f"the manifest's digest is {published.digest}, but the file says {head[5:37].hex()}; "
            "export it again",
            field="digest",
        )
    return published, n


def read_records(source: str | Path | bytes) -> tuple[Published, NDArray[np.uint8]]:
    """Read a file of records into its survey and the rows as uint8[n, L], not yet checked."""
    try:
        import numpy as np
    except ImportError:
        raise MissingExtra("kernels", "reading records into an array") from None
    from io import BytesIO
    from pathlib import Path

    with BytesIO(source) if isinstance(source, bytes) else Path(source).open("rb") as stream:
        published, n = read_records_header(stream)
        if isinstance(stream, BytesIO):
            rows = np.frombuffer(stream.read(), dtype=np.uint8)
        else:
            # Straight into the array: the rows are most of the file, and are held once.
            rows = np.fromfile(stream, dtype=np.uint8)
    size = published.layout.record_size
    if len(rows) % size:
        raise InvalidParameter(
            f"the file of records ends {len(rows) % size} bytes into a row of {size}; "
            "export it again",
            field="records",
        )
    if n is not None and len(rows) != n * size:
        raise InvalidParameter(
            f"the file of records has {len(rows) // size} of its {n} records; export it again",
            field="records",
        )
    return published, rows.reshape(-1, size)
