"""The files that pages load: the browser SDK's script, the dashboard's, style sheet and icon.

They are read once, compressed once, and addressed by a hash of them all, so that browsers may keep
them for ever and a new release is never mixed with an old one.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

from hushpoll_analysis.html import style_sheet
from hushpoll_shared.page_scripts import ENTRY, WORKER, hash_of
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.terms import INVITED

MEDIA_TYPES: Mapping[str, str] = {
    "js": "text/javascript",
    "css": "text/css",
    "svg": "image/svg+xml",
    "map": "application/json",
}
# The dashboard loads the modules there by itself.
DASHBOARD = "dashboard/"
# Modules that the browser SDK imports only where a survey needs them (its features.js), and which
# surveys do. Bundled, their names end in a hash.
PARTS: Final[Mapping[str, Callable[[Published], object]]] = {
    "blocks": lambda survey: survey.together,
    "draws": lambda survey: survey.draws,
    "follow_ups": lambda survey: any(one.ask_if is not None for one in survey.attributes),
    "invited": lambda survey: survey.submission == INVITED,
    "matrices": lambda survey: survey.matrices,
    "numbers": lambda survey: any(one.number is not None for one in survey.attributes),
    "presentation": lambda survey: (
        survey.thanks
        or survey.logo
        or any(one.ends is not None or one.shuffle is not None for one in survey.attributes)
        or any(select.shuffle is not None for select in survey.selects)
        or any(matrix.shuffle is not None for matrix in survey.matrices)
    ),
    "protected_groups": lambda survey: survey.protected is not None,
    "selects": lambda survey: survey.selects,
    "translations": lambda survey: survey.translations,
}
# What the SDK imports when a respondent withdraws, which few do.
LATER: Final = frozenset({"withdrawal"})
# For other hosts of the SDK; the page does not import them.
UNUSED = frozenset(
    {
        "consequences.js",
        "index.js",
        "languages.js",
        "memory_storage.js",
        "replay.js",
        "report_reader.js",
        "surveyjs.js",
    }
)
# An import that only a bundler can follow.
_PACKAGE: Final = re.compile(rb"""\bfrom ?["']([^."'/][^"']*)["']""")
# The page's words. A page in another language than that of the scripts carries its own.
WORDS = "words/"
SCRIPT_WORDS = "words/en.js"


@dataclass(frozen=True)
class Asset:
    """One file, as it is and compressed by gzip."""

    media_type: str
    body: bytes
    compressed: bytes


@dataclass(frozen=True)
class Assets:
    """All files of the page by path, such as ``page/main.js``, and a hash of them all."""

    build: str
    files: Mapping[str, Asset]

    @property
    def unbundled(self) -> list[str]:
        """The packages that scripts import by name, which no browser finds.

        The page of a survey by invitation needs one, so it cannot be answered there.
        """
        bodies = (file.body for path, file in self.files.items() if path.endswith(".js"))
        return sorted({name.decode() for body in bodies for name in _PACKAGE.findall(body)})

    def modules(self, survey: Published) -> tuple[str, ...]:
        """Return the paths of the modules that the page of a survey loads."""
        return tuple(
            path
            for path in self.files
            if path.endswith(".js")
            and path != WORKER
            and not path.startswith(DASHBOARD)
            and _stem(path) not in LATER
            and (_stem(path) not in PARTS or PARTS[_stem(path)](survey))
        )


@cache
def assets() -> Assets:
    """Read the files, once per process."""
    own = resources.files(__package__) / "assets"
    # Not imported: a folder of JavaScript that is installed beside the packages.
    files = scripts(resources.files("hushpoll_client_js")) | dict(_files(own))
    files["style.css"] = style_sheet().encode()
    if ENTRY not in files:
        raise FileNotFoundError(f"the installation has no {ENTRY} of the browser SDK; reinstall it")
    return Assets(
        hash_of(files)[:16],
        {
            path: Asset(MEDIA_TYPES[path.rpartition(".")[2]], body, gzip.compress(body, 9, mtime=0))
            for path, body in sorted(files.items())
        },
    )


def scripts(sdk: Traversable) -> dict[str, bytes]:
    """Return the scripts of the browser SDK that a page loads, by path.

    That is one bundled script, if the package has one that was made from its own sources, as
    ``bundle.json`` says; else the modules. A checkout has no bundle before ``scripts/bundle`` made
    one, and none that holds after a change of the sources.
    """
    sources = dict(_files(sdk / "src"))
    record, built = sdk / "bundle.json", sdk / "dist"
    if record.is_file() and built.is_dir():
        bundle = dict(_files(built))
        hashes = {"sources": hash_of(sources), "bundle": hash_of(bundle)}
        if json.loads(record.read_bytes()).items() >= hashes.items():
            return bundle
    return {
        path: body
        for path, body in sources.items()
        if path not in UNUSED and (path == SCRIPT_WORDS or not path.startswith(WORDS))
    }


def _stem(path: str) -> str:
    """Return the name of a module, without the hash that a bundle gives it."""
    return path.rpartition("/")[2].removesuffix(".js").partition("-")[0]


def _files(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        path = f"{prefix}{entry.name}"
        if entry.is_dir():
            yield from _files(entry, f"{path}/")
        elif entry.name.rpartition(".")[2] in MEDIA_TYPES:
            yield path, entry.read_bytes()
