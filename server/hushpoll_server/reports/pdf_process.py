"""The process that lays out a page: it reads HTML from its input and writes PDF.

WeasyPrint holds Python's lock for seconds and takes memory by the page, so it has a process of its
own with a bound on both. It fetches nothing.
"""

from __future__ import annotations

import logging
import os
import resource
import sys
from typing import Any, Final, NoReturn

from hushpoll_server.reports.pdf import NO_LIBRARY

MOST_BYTES: Final = 3 * 2**30
MOST_SECONDS: Final = 600


def main() -> int:
    """Write the PDF of the page on standard input; return the exit code."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    # What the library prints must not get into the file.
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        import weasyprint
    except OSError:  # it looks for Pango as it is imported
        return NO_LIBRARY
    # Of the screen's rules it does not know some, and says so of each.
    logging.getLogger("weasyprint").setLevel(logging.CRITICAL)
    page = sys.stdin.buffer.read().decode()
    output.write(weasyprint.HTML(string=page, url_fetcher=_fetch_nothing).write_pdf())
    output.close()
    return 0


def _fetch_nothing(url: str, *_: Any, **__: Any) -> NoReturn:
    raise ValueError(f"a report loads nothing, and asks for {url[:80]}")


if __name__ == "__main__":
    sys.exit(main())
