"""The report of an import as text: what must be decided first, then every question."""

from __future__ import annotations

from textwrap import fill

from hushpoll_shared.importing.drafting import Entry, Imported, Outcome
from hushpoll_shared.spelling.text import printable

WIDTH = 80


def report_text(imported: Imported) -> str:
    """Return the report in lines of at most 80 columns, but for long names."""
    counts = imported.counts()
    total = len(imported.entries)
    first = f"{total} question{'s' if total != 1 else ''} in the file: " + ", ".join(
        f"{number} {outcome}" for outcome, number in counts.items()
    )
    parts = [_filled(first + ".")]
    parts += ["", "Of the whole survey, to be decided:"]
    parts += [_filled(text, "- ") for text in imported.survey]
    for outcome in (Outcome.DECIDE, Outcome.CHANGED, Outcome.DROPPED, Outcome.TAKEN):
        entries = [entry for entry in imported.entries if entry.outcome is outcome]
        if entries:
            parts += ["", f"{str(outcome).capitalize()}:"]
            parts += [_filled(_line(entry), "- ") for entry in entries]
    return "\n".join(parts)


def _line(entry: Entry) -> str:
    head = f"{printable(entry.question)} ({printable(entry.where)})"
    messages = " ".join(map(printable, entry.messages))
    return f"{head}: {messages}" if messages else head


def _filled(text: str, mark: str = "") -> str:
    return fill(
        text,
        WIDTH,
        initial_indent=mark,
        subsequent_indent=" " * len(mark),
        break_long_words=False,
        break_on_hyphens=False,
    )
