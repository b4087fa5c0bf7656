"""The languages of a questionnaire, and its texts in each of them."""

from __future__ import annotations

import unicodedata

from hushpoll_shared.importing.language_names import tag_of
from hushpoll_shared.importing.questionnaire import UNNAMED, Question, Questionnaire, Words
from hushpoll_shared.spelling.labels import trimmed
from hushpoll_shared.spelling.text import printable, show


def plain(text: str, longest: int) -> str:
    """Return a text in one line that a manifest may have."""
    line = trimmed(" ".join(printable(unicodedata.normalize("NFC", text)).split()))
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def _plain_lines(text: str, longest: int) -> str:
    """Return a text of several lines that a manifest may have; empty ones stay between others."""
    lines = trimmed("\n".join(plain(line, longest) for line in text.splitlines()).strip())
    return lines if len(lines) <= longest else f"{lines[: longest - 1].rstrip()}…"


class Languages:
    """The languages of a file, and its texts in them."""

    def __init__(self, questionnaire: Questionnaire) -> None:
        texts: list[Words] = [questionnaire.title, questionnaire.description, questionnaire.thanks]
        for part in questionnaire.parts:
            if isinstance(part, Question):
                texts += [part.words, *(choice.words for choice in part.choices)]
                texts += [part.section or {}, part.help, part.row, *(part.ends or ())]
                texts += [part.table.words] if part.table else []
        named = list(dict.fromkeys(name for words in texts for name in words))
        self.notes: list[str] = []
        main = questionnaire.language if questionnaire.language in named else None
        if main is None:
            asked = [part.words for part in questionnaire.parts if isinstance(part, Question)]
            counts = {name: sum(name in words for words in asked) for name in named}
            main = max(named, key=lambda name: (counts[name], name == UNNAMED), default=UNNAMED)
        self._main = main
        tag = tag_of(questionnaire.language or main) if main == UNNAMED else tag_of(main)
        if tag is None:
            tag = "en"
            said = f"calls the language of its texts {main!r}" if main else "names no language"
            self.notes.append(f"The file {said}; 'en' is a suggestion.")
        self.own = tag
        self.others: dict[str, str] = {}
        for name in named:
            other = tag_of(name) if name not in (main, UNNAMED) else None
            if other is None and name not in (main, UNNAMED):
                self.notes.append(
                    f"The texts in {show(name)} are left out, since nothing says which language "
                    "that is; write it as 'English (en)'."
                )
            elif other is not None and other != tag:
                self.others.setdefault(other, name)
        self.lacking: dict[str, int] = {}
        self._cut: dict[str, set[str]] = {}

    def text(self, words: Words) -> str | None:
        """Return a text in the main language, or in whichever it has."""
        for name in (self._main, UNNAMED, *words):
            if words.get(name):
                return words[name]
        return None

    def other(self, words: Words, tag: str) -> str | None:
        """Return a text in another language; None, and one more lacking, where it has none."""
        found = words.get(self.others[tag])
        if not found:
            self.lacking[tag] = self.lacking.get(tag, 0) + 1
        return found or None

    def fitted(
        self, text: str, longest: int, tag: str | None = None, *, lines: bool = False
    ) -> str:
        """Return a text as a manifest may have it; one that is cut is told by :meth:`cut`.

        Parameters
        ----------
        text : str
            As the file has it.
        longest : int
            Most characters.
        tag : str, optional
            Its language; by default the survey's own.
        lines : bool
            Whether line breaks are kept.
        """
        found = _plain_lines(text, longest) if lines else plain(text, longest)
        if found.endswith("…") and not text.strip().endswith("…"):
            self._cut.setdefault(tag or self.own, set()).add(found)
        return found

    def cut(self) -> list[str]:
        """Return the sentences that name the texts that were too long."""
        return [
            f"In {tag!r} {len(texts)} text{'s are' if len(texts) > 1 else ' is'} cut: write "
            f"{'them' if len(texts) > 1 else 'it'} shorter ({', '.join(_starts(texts))})."
            for tag, texts in self._cut.items()
        ]


def _starts(texts: set[str]) -> list[str]:
    return sorted(show(text[:30]) for text in texts)
