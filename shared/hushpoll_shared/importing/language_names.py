"""Which language a form means by the name that it gives to it."""

from __future__ import annotations

import re
from typing import Final

from hushpoll_protocols.errors import InvalidParameter
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


def tag_of(name: str) -> str | None:
    """Return the tag of a language by BCP 47, of ``English (en)``, ``english`` or ``en``.

    Returns
    -------
    str or None
        None where nothing says it for certain.
    """
    match = _IN_BRACKETS.search(name)
    for text in (match[1] if match else "", name.strip()):
        language, _, region = text.replace("_", "-").partition("-")
        tag = f"{language.lower()}-{region.upper()}" if region else language.lower()
        try:
            return check_language(tag, field="language")
        except InvalidParameter:
            continue
    return _NAMES.get(name.partition("(")[0].strip().lower())
