"""A survey's page as HTML, and pages that were rendered.

They are kept in bounded memory, since a published version never changes.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

from flask import render_template, request

from hushpoll_analysis.html import style_sheet
from hushpoll_server.pages.assets import assets
from hushpoll_server.pages.questions import questions
from hushpoll_server.words import Words, words_for
from hushpoll_shared.page_scripts import ENTRY, WORKER
from hushpoll_shared.spelling.languages import direction
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.wording import Wording

# The page carries its style sheet, so that it is on the screen after one request.
_STYLE = base64.b64encode(hashlib.sha256(style_sheet().encode()).digest()).decode()
# Everything from this server, no markup from strings, and no form that sends anywhere.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        f"style-src 'self' 'sha256-{_STYLE}'",
        "img-src 'self'",
        "connect-src 'self'",
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types hushpoll",
    )
)
KEPT_BYTES: Final = 64 * 2**20


@dataclass(frozen=True)
class Rendered:
    """A page as HTML in UTF-8, as it is and compressed by gzip, and the hash of it."""

    body: bytes
    compressed: bytes
    etag: str

    @property
    def size(self) -> int:
        """Bytes that it takes in memory."""
        return len(self.body) + len(self.compressed)


class RenderedPages:
    """Pages that were rendered, of at most so many bytes together."""

    def __init__(self, most_bytes: int = KEPT_BYTES) -> None:
        self._most_bytes = most_bytes
        self._rendering = threading.Lock()
        self._pages: dict[Hashable, Rendered] = {}
        self._bytes = 0

    def get(self, key: Hashable, render: Callable[[], str]) -> Rendered:
        """Return the page of a key, rendered unless it is kept; one is rendered at a time."""
        page = self._pages.get(key)
        if page is not None:
            return page
        with self._rendering:
            page = self._pages.get(key)  # another request may have rendered it meanwhile
            if page is None:
                body = render().encode()
                compressed = gzip.compress(body, 9, mtime=0)
                page = Rendered(body, compressed, hashlib.sha256(body).hexdigest())
                self._keep(key, page)
        return page

    def _keep(self, key: Hashable, page: Rendered) -> None:
        if page.size > self._most_bytes:
            return  # it would drive out all the others, and not be kept itself
        while self._bytes + page.size > self._most_bytes:
            oldest = next(iter(self._pages))
            self._bytes -= self._pages.pop(oldest).size
        self._pages[key] = page
        self._bytes += page.size


# The key is the digest, which names the content: all applications of a process may share it.
PAGES: Final = RenderedPages()


def rendered(
    published: Published, wording: Wording, words: Words | None = None, *, preview: bool = False
) -> str:
    """Return the page of a survey; a `preview` has no script, so that it sends nothing.

    The page's own words are in the language of the survey's by default, if they exist in it.
    """
    root = asset_root()
    words = words or words_for([wording.language])
    return render_template(
        "survey.html",
        language=words.language,
        survey=published,
        wording=wording,
        words=words,
        direction=direction(wording.language),
        direction_of=direction,
        style=style_sheet(),
        questions=questions(published, wording),
        label=words.said_label(published, hosted=True),
        preview=preview,
        root=root,
        modules=assets().modules(published),
        entry=ENTRY,
        server=request.script_root,
        worker=f"{root}{WORKER}",
        scope=f"{request.script_root}/s/",
    )


def asset_root() -> str:
    """Return the address of the files that pages load, with a slash at its end."""
    return f"{request.script_root}/page/{assets().build}/"
