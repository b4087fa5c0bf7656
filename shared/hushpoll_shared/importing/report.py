"""What has become of each question of a form: as objects, as JSON, and as text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from textwrap import fill
from typing import Any, Final

from hushpoll_shared.spelling.text import printable
from hushpoll_shared.wire.documents.drafts import ImportedQuestion, ImportReport

WIDTH: Final = 80


class Outcome(StrEnum):
    """What has become of a question."""

    TAKEN = "taken"
    CHANGED = "changed"
    DECIDE = "to be decided"
    DROPPED = "dropped"


@dataclass(frozen=True)
class Entry:
    """What has become of one question of the file."""

    question: str
    """Its name in the file."""
    where: str
    """Its place in the file."""
    outcome: Outcome
    """The gravest of what is said of it."""
    attribute: str | None
    """Its name in the draft; None if it was dropped."""
    messages: tuple[str, ...]
    """What was changed, must be decided, or the reason, as sentences."""
    codes: tuple[str, ...] = ()
    """The file's codes of its choices, in the order of the draft's categories."""

    def to_dict(self) -> ImportedQuestion:
        """Return the JSON form."""
        return {
            "question": self.question,
            "where": self.where,
            "outcome": self.outcome.value,
            "attribute": self.attribute,
            "messages": list(self.messages),
            "codes": list(self.codes),
        }


@dataclass(frozen=True)
class ImportedDraft:
    """A draft, and what has become of each question of the file, in its order."""

    manifest: dict[str, Any]
    """A manifest that could be published, with suggestions for what must be decided."""
    entries: tuple[Entry, ...]
    survey: tuple[str, ...]
    """What must be decided of the whole survey, and what was left out, as sentences."""

    def counts(self) -> dict[str, int]:
        """Return how many questions have each outcome."""
        return {
            str(outcome): sum(entry.outcome is outcome for entry in self.entries)
            for outcome in Outcome
        }

    def report(self) -> ImportReport:
        """Return the JSON form of the report."""
        return {
            "counts": self.counts(),
            "survey": list(self.survey),
            "questions": [entry.to_dict() for entry in self.entries],
        }


def report_text(imported: ImportedDraft) -> str:
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
