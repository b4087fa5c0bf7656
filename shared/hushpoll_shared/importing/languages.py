"""The languages of a questionnaire, what a form calls them, and its texts in each."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.importing.questionnaire import UNNAMED, Question, Questionnaire, Words
from hushpoll_shared.spelling.labels import trimmed
from hushpoll_shared.spelling.text import printable, show
from hushpoll_shared.survey.wording import check_language

_IN_BRACKETS: Final = re.compile(r"\(([A-Za-z-]+)\)\s*\Z")
_NAMES: Final = {
    name: tag
    for tag, names in {
        "am": "amharic", "ar": "arabic العربية", "bg": "bulgarian български",
        "bn": "bengali bangla বাংলা", "cs": "czech čeština", "da": "danish dansk",
        "de": "german deutsch", "el": "greek ελληνικά", "en": "english", "es": "spanish español",
        "fa": "persian farsi dari فارسی", "fi": "finnish suomi", "fr": "french français",
        "ha": "hausa", "he": "hebrew עברית", "hi": "hindi हिन्दी", "hr": "croatian hrvatski",
        "hu": "hungarian magyar", "id": "indonesian", "it": "italian italiano",
        "ja": "japanese 日本語", "km": "khmer", "ko": "korean 한국어", "ku": "kurdish",
        "lo": "lao", "my": "burmese myanmar", "nb": "norwegian norsk", "ne": "nepali नेपाली",
        "nl": "dutch nederlands", "pl": "polish polski", "ps": "pashto",
        "pt": "portuguese português",
        "ro": "romanian română", "ru": "russian русский", "rw": "kinyarwanda", "so": "somali",
        "sr": "serbian српски", "sv": "swedish svenska", "sw": "swahili kiswahili",
        "ta": "tamil தமிழ்", "th": "thai ไทย", "ti": "tigrinya", "tr": "turkish türkçe",
        "uk": "ukrainian українська", "ur": "urdu اردو", "vi": "vietnamese", "yo": "yoruba",
        "zh": "chinese mandarin 中文", "zu": "zulu",
    }.items()
    for name in names.split()
}  # fmt: skip


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
        """Return a text as a manifest may have it; one that is cut is told by :meth:`cut`."""
        found = _plain_lines(text, longest) if lines else plain(text, longest)
        if found.endswith("…") and not text.strip().endswith("…"):
            self._cut.setdefault(tag or self.own, set()).add(found)
        return found

    def cut(self) -> list[str]:
        """Return the sentences that name the texts that were too long."""
        return [
            f"In {tag!r} {len(texts)} text{'s are' if len(texts) > 1 else ' is'} cut: write "
            f"{'them' if len(texts) > 1 else 'it'} shorter "
            f"({', '.join(sorted(show(text[:30]) for text in texts))})."
            for tag, texts in self._cut.items()
        ]


def tag_of(name: str) -> str | None:
    """Return the tag by BCP 47 of ``English (en)``, ``english`` or ``en``, where it is certain."""
    match = _IN_BRACKETS.search(name)
    for text in (match[1] if match else "", name.strip()):
        language, _, region = text.replace("_", "-").partition("-")
        tag = f"{language.lower()}-{region.upper()}" if region else language.lower()
        try:
            return check_language(tag, field="language")
        except InvalidParameter:
            continue
    return _NAMES.get(name.partition("(")[0].strip().lower())
