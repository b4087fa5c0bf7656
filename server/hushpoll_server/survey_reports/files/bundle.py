"""A report's bundle: a ZIP with all that it is made from, and all that was made from it.

``manifest.json`` and ``basis.json`` are what is needed: the survey, and counts of one release with
facts about it. Everything else follows from these two, so that it can be checked.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import Final

from hushpoll_protocols.errors import HushpollError, InvalidParameter
from hushpoll_server.survey_reports.markup.figures import Figure
from hushpoll_server.survey_reports.sources.basis import Basis
from hushpoll_shared.spelling.canonical import InvalidJson, parse_json
from hushpoll_shared.survey.published import Published
from hushpoll_shared.tables.table_files import csv_bytes

MANIFEST: Final = "manifest.json"
BASIS: Final = "basis.json"
RESULTS: Final = "results.json"
PAGE: Final = "report.html"
SUMS: Final = "SHA256SUMS"
MOST_BYTES: Final = 64 * 2**20
"""All files of a bundle have at most so many, expanded; a larger bundle is refused."""

DAMAGED: Final = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError)
"""What reading a ZIP raises where it is damaged, encrypted, or of a kind that is not read."""

_COMPRESSIONS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

# The least that ZIP can say, so that a bundle is the same whenever it is made.
_MOMENT: Final = (1980, 1, 1, 0, 0, 0)
_README: Final = """\
Results of {name}, version {version} ({digest}).

report.html        the report, in one file
manifest.json      the survey as it was published; its SHA-256 is the digest above
basis.json         counts of one release, and facts about it: all that the report is made from
results.json       every number of the report
figures/           charts as SVG and as Vega-Lite specifications
tables/            the data behind each chart, as CSV
SHA256SUMS         hashes of all other files; check them with: sha256sum --check SHA256SUMS

To make the report and all other files again from manifest.json and basis.json, without a server,
and to compare them with these, with hushpoll-server {release} installed:

  hushpoll report --from {name}.zip --out {name}.html

Made with {programs}. No random number was drawn.
"""


def files_of(
    basis: Basis, results: Mapping[str, object], figures: Sequence[Figure], page: bytes
) -> dict[str, bytes]:
    """Return the files of a bundle by path, but for their hashes."""
    published, made_with = basis.published, basis.facts["made_with"]
    files = {
        "README.txt": _README.format(
            name=published.name,
            version=published.version,
            digest=published.digest,
            release=made_with["hushpoll"],
            programs=", ".join(f"{name} {made_with[name]}" for name in sorted(made_with)),
        ).encode(),
        MANIFEST: published.canonical,
        BASIS: _json(basis.to_dict()),
        RESULTS: _json(results),
        PAGE: page,
    }
    for figure in figures:
        files[f"tables/{figure.key}.csv"] = csv_bytes(figure.table)
        if figure.alone_svg is not None and figure.specification is not None:
            files[f"figures/{figure.key}.svg"] = figure.alone_svg.encode()
            files[f"figures/{figure.key}.vl.json"] = figure.specification
    return files


def bundle_of(
    basis: Basis, results: Mapping[str, object], figures: Sequence[Figure], page: bytes
) -> bytes:
    """Return the ZIP of `files_of` and their hashes."""
    files = files_of(basis, results, figures, page)
    sums = "".join(f"{_hash(body)}  {path}\n" for path, body in sorted(files.items()))
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as target:
        for path, body in sorted({**files, SUMS: sums.encode()}.items()):
            entry = zipfile.ZipInfo(path, _MOMENT)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            target.writestr(entry, body)
    return archive.getvalue()


def read_bundle(data: bytes) -> tuple[Basis, dict[str, bytes]]:
    """Return what a bundle's report is made from, and the files that were made.

    The ZIP may come from anybody, and nothing of it is executed or written anywhere; one that is no
    bundle, not consistent or too large is refused.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = _expanded(archive)
        published = Published.from_json(files[MANIFEST])
        basis = Basis.from_dict(published, parse_json(files[BASIS]))
    except InvalidParameter:
        raise
    except (HushpollError, InvalidJson) as error:
        raise InvalidParameter(f"the bundle is refused: {error}", field="from") from error
    except (*DAMAGED, KeyError, TypeError, ValueError, OverflowError) as error:
        raise no_bundle() from error
    return basis, files


def no_bundle() -> InvalidParameter:
    """Return the refusal of a file that is none."""
    return InvalidParameter(
        "the file is no bundle of a report, or damaged; fetch it again with hushpoll report "
        "--bundle",
        field="from",
    )


def read_file(data: bytes, path: str) -> bytes | None:
    """Return one file of a bundle that this program has made; None if it has none of this path."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        try:
            return archive.read(path)
        except KeyError:
            return None


def _expanded(archive: zipfile.ZipFile) -> dict[str, bytes]:
    files, left = {}, MOST_BYTES
    for entry in archive.infolist():
        if entry.compress_type not in _COMPRESSIONS:
            # Others may ask for gigabytes before they give a byte.
            raise zipfile.BadZipFile
        with archive.open(entry) as file:
            files[entry.filename] = file.read(left + 1)
        left -= len(files[entry.filename])
        if left < 0:
            raise InvalidParameter(
                f"the bundle has more than {MOST_BYTES} bytes when it is expanded, and no bundle "
                "of a report is so large; fetch it again with hushpoll report --bundle",
                field="from",
            )
    return files


def _json(value: object) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True, allow_nan=False).encode() + b"\n"


def _hash(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
