"""A page as PDF: by WeasyPrint (extra ``pdf``), in a process of its own."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import threading
from typing import Final

from hushpoll_protocols.errors import HushpollError, MissingExtra

LONGEST_SECONDS: Final = 60.0
AT_ONCE: Final = 2
"""Pages that are laid out at a time in a process; each may take gigabytes and a core."""
WAIT_SECONDS: Final = 1.0
NO_LIBRARY: Final = 3
"""Exit code of the process where a library of the system is missing."""

_FEATURE: Final = "a report as PDF"
_PLACES: Final = threading.BoundedSemaphore(AT_ONCE)
_PANGO: Final = ("libpango-1.0.so.0", "libpango-1.0-0 libpangoft2-1.0-0")


class NotPrinted(HushpollError):
    """The page was not laid out as PDF: for want of time, of memory, or of a free place."""


def require_pdf() -> None:
    """Refuse a PDF where WeasyPrint, the extra ``pdf``, is not installed."""
    if importlib.util.find_spec("weasyprint") is None:
        raise MissingExtra("pdf", _FEATURE)


def pdf_of(html: str, *, seconds: float = LONGEST_SECONDS) -> bytes:
    """Return a page as PDF; whatever it refers to outside of itself is not fetched.

    Raises `MissingExtra` without WeasyPrint or the library Pango, and `NotPrinted` where it takes
    longer than `seconds` or too much memory, or others are being laid out.
    """
    require_pdf()
    if not _PLACES.acquire(timeout=WAIT_SECONDS):
        raise NotPrinted(
            f"{AT_ONCE} other reports are being laid out as PDF; ask again in some seconds, or "
            "print the HTML from a browser"
        )
    try:
        ended = subprocess.run(
            [sys.executable, "-P", "-m", "hushpoll_server.survey_reports.files.pdf_process"],
            input=html.encode(),
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NotPrinted(
            f"the report was not laid out as PDF within {seconds:g} s; ask for fewer questions or "
            "cross-tables, ask for a job, or print the HTML from a browser"
        ) from None
    finally:
        _PLACES.release()
    if ended.returncode == NO_LIBRARY:
        raise MissingExtra("pdf", _FEATURE, library=_PANGO)
    if ended.returncode != 0 or not ended.stdout.startswith(b"%PDF-"):
        raise NotPrinted(
            "the report could not be laid out as PDF, perhaps for want of memory; ask for fewer "
            "questions or cross-tables, or print the HTML from a browser"
        )
    return ended.stdout
