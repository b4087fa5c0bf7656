"""The scripts that a hosted page runs, and the one digest of them that everybody can compare.

All surveys of a release have the same scripts: an entry, the service worker, and what either
imports, also the parts that only some surveys load. The digest is over all of them, whichever
survey's page is looked at.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from typing import Final

from hushpoll_protocols.errors import HushpollError

ENTRY: Final = "page/main.js"
WORKER: Final = "page/worker.js"
MOST_SCRIPTS: Final = 200

_IMPORT: Final = re.compile(rb"""\b(?:from|import)\s*\(?\s*["'](\.{1,2}/[^"'\s]+\.js)["']""")
_RUNS: Final = frozenset({"iframe", "frame", "object", "embed", "base"})
_DATA: Final = "application/json"


class ForeignScripts(HushpollError):
    """A page runs, or would run, what is no script of a release."""


def hash_of(files: Mapping[str, bytes]) -> str:
    """Return one SHA-256 of all files, their paths included, in hexadecimal digits."""
    digest = hashlib.sha256()
    for path, body in sorted(files.items()):
        digest.update(f"{path}\0{len(body)}\0".encode() + body)
    return digest.hexdigest()


def scripts_of(read: Callable[[str], bytes | None]) -> dict[str, bytes]:
    """Return all scripts of a page by path, following what each imports.

    `read` returns the script of a path such as ``page/main.js``, or None. Refuses an import that
    leads out of the page's folder.
    """
    found: dict[str, bytes] = {}
    waiting = [ENTRY, WORKER]
    seen = set(waiting)
    while waiting:
        path = waiting.pop()
        body = read(path)
        if body is None:
            continue
        found[path] = body
        for spelled in _IMPORT.findall(body):
            imported = posixpath.normpath(
                posixpath.join(posixpath.dirname(path), spelled.decode("utf-8", "replace"))
            )
            if imported.startswith("../"):
                raise ForeignScripts(f"{path} imports {imported}, outside of the page's scripts")
            if imported not in seen:
                seen.add(imported)
                waiting.append(imported)
        if len(seen) > MOST_SCRIPTS:
            raise ForeignScripts(
                f"the page has more than {MOST_SCRIPTS} scripts; no release has so many"
            )
    return found


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.entries: list[str] = []
        self.foreign: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.foreign += [f"the attribute {name} of {tag}" for name in given if name[:2] == "on"]
        self.foreign += [
            f"the address {value[:40]!r} of {tag}"
            for value in given.values()
            if re.match(r"[\s\x00]*javascript:", value, re.IGNORECASE)
        ]
        if tag in _RUNS:
            self.foreign.append(f"the element {tag}")
        elif tag == "meta" and given.get("http-equiv", "").lower() == "refresh":
            self.foreign.append("a meta element that leads elsewhere")
        elif tag == "script" and "src" in given:
            self.entries.append(given["src"])
        elif tag == "script" and given.get("type", "").strip().lower() != _DATA:
            self.foreign.append("a script inside the page")


def entry_of(html: str) -> str:
    """Return the address of the one script that a hosted page names; nothing else may run."""
    page = _Page()
    page.feed(html)
    page.close()
    if page.foreign:
        raise ForeignScripts(
            f"the page has {page.foreign[0]}, which no page of a release has; do not answer on it"
        )
    if not page.entries:
        raise ForeignScripts(
            "the page names no script; give the address of a survey that is open, such as "
            "https://survey.example.org/s/NAME"
        )
    if len(page.entries) > 1 or not page.entries[0].endswith(f"/{ENTRY}"):
        raise ForeignScripts(
            f"the page runs {', '.join(page.entries)}; a page of a release runs one script, "
            f"…/{ENTRY}: do not answer on it"
        )
    return page.entries[0]
