"""The process that lays out a page: it reads HTML from its input and writes PDF.

WeasyPrint holds Python's lock for seconds and takes memory by the page, so it has a process of its
own with a bound on both. It fetches nothing.
"""

from __future__ import annotations

import base64
import logging
import os
import re
import resource
import sys
from typing import Final

from hushpoll_server.survey_reports.files.pdf import NO_LIBRARY
from hushpoll_shared.spelling.text import turns

MOST_BYTES: Final = 3 * 2**30
MOST_SECONDS: Final = 600

# A chart of the page; a text of the data has no < in it.
_CHART: Final = re.compile(r'<svg role="img"[^<>]* width="(\d+)"[^<>]*>.*?</svg>', re.DOTALL)
_TAG: Final = re.compile(r"<[^<>]*>")
_SCALE: Final = 4


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
    # It does not know some of the screen's rules, and says so of each.
    logging.getLogger("weasyprint").setLevel(logging.CRITICAL)
    page = sys.stdin.buffer.read().decode()
    page = _CHART.sub(_readable, page)
    # A report loads nothing: its images are within it.
    fetcher = weasyprint.urls.URLFetcher(allowed_protocols={"data"})
    output.write(weasyprint.HTML(string=page, url_fetcher=fetcher).write_pdf())
    output.close()
    return 0


def _readable(chart: re.Match[str]) -> str:
    """Return a chart, as an image if one of its texts is written from right to left.

    WeasyPrint sets the texts of SVG letter by letter from left to right, so that a name in Hebrew
    would stand there backwards, and one in Arabic in letters that are not joined.
    """
    if not turns(_TAG.sub("", chart[0])):
        return chart[0]
    import vl_convert

    # On white, since half-transparent colours change where nothing is behind them.
    svg = chart[0].replace(">", '><rect width="100%" height="100%" fill="#fff"/>', 1)
    image = base64.b64encode(bytes(vl_convert.svg_to_png(svg, scale=_SCALE))).decode()
    # What it shows is in the sentence and the table below it.
    return f'<img alt="" width="{chart[1]}" src="data:image/png;base64,{image}">'


if __name__ == "__main__":
    sys.exit(main())
