"""KEY=VALUE and lists of names on a command line, where names may hold ``=`` and commas.

A category may be called ``<=26000`` and a column ``Income, yearly``. Where the names are known, a
text is cut so that each part is one of them; where it can be cut in two ways it is refused, and
never guessed. Quotes always say where a name ends, as in CSV: ``"<=26000"=low``,
``"Income, yearly",age``; a quote inside them is written twice.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterable
from typing import Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.text import show

_QUOTED: Final = r'"((?:[^"]|"")+)"'
_QUOTED_KEY: Final = re.compile(rf"{_QUOTED}=(.+)", re.DOTALL)
_WHOLE: Final = re.compile(_QUOTED)
_ITEM: Final = re.compile(rf"\s*(?:{_QUOTED}|([^\",]*))\s*(?:,|$)")


def read_pair(
    text: str, *, field: str, form: str, names: Collection[str] | None = None
) -> tuple[str, str]:
    """Return the key and the value of a text such as ``<=26000=low``, each in quotes or without.

    `names` are the keys that there are; without them a text with several ``=`` needs quotes.
    Refuses a text that can be cut in two ways.
    """
    in_quotes = _QUOTED_KEY.fullmatch(text)
    if in_quotes is not None:
        return _doubled(in_quotes[1]), _value(in_quotes[2])
    cuts = [at for at, sign in enumerate(text) if sign == "=" and 0 < at < len(text) - 1]
    if names is not None:
        known = [at for at in cuts if text[:at] in names]
        cuts = known or cuts[:1]
    if not cuts:
        raise _refusal(field)(f"is {show(text)}; give {form}")
    if len(cuts) > 1:
        keys = " or ".join(show(text[:at]) for at in cuts)
        spelled = shlex.quote(f"{quoted(text[: cuts[-1]])}={text[cuts[-1] + 1 :]}")
        raise _refusal(field)(
            f"is {show(text)}, which may be of {keys}; put the name into quotes, such as {spelled}"
        )
    return text[: cuts[0]], _value(text[cuts[0] + 1 :])


def read_pairs(
    texts: Iterable[str], *, field: str, form: str, names: Collection[str] | None = None
) -> dict[str, str]:
    """Return several pairs; see :func:`read_pair`. A key that is given again is refused."""
    pairs: dict[str, str] = {}
    for text in texts:
        key, value = read_pair(text, field=field, form=form, names=names)
        if key in pairs:
            raise _refusal(field)(f"names {show(key)} twice; give it once")
        pairs[key] = value
    return pairs


def read_list(text: str, *, field: str, names: Collection[str] | None = None) -> list[str]:
    """Return the names of a text with commas between them, in quotes or without.

    One of `names` may hold commas; a part that is none of them is returned as it is where commas
    alone cut the text. Refuses a text that can be cut in two ways.
    """
    if '"' in text and text not in (names or ()):
        return _quoted_items(text, field)
    parts = text.split(",")
    cuts = [] if names is None else _cut(parts, frozenset(names))
    if len(cuts) > 1:
        ways = " or ".join(show(cut) for cut in cuts)
        raise _refusal(field)(
            f"is {show(text)}, which may be {ways}; put the names with commas into quotes"
        )
    items = cuts[0] if cuts else [part.strip() for part in parts]
    if not all(items):
        raise _refusal(field)(f"is {show(text)}, which has an empty name; remove a comma")
    return items


def quoted(name: str, marks: str = '",=') -> str:
    """Return a name as a list or a pair takes it, whatever it holds; `marks` end one."""
    plain = name == name.strip() and not set(marks).intersection(name)
    return name if plain else '"' + name.replace('"', '""') + '"'


def _cut(parts: list[str], names: frozenset[str]) -> list[list[str]]:
    """Return the ways, two at most, in which parts joined again are names."""
    # ways[at]: of cutting the parts from there on
    ways: list[list[list[str]]] = [[] for _ in parts] + [[[]]]
    for at in reversed(range(len(parts))):
        for end in range(at + 1, len(parts) + 1):
            name = ",".join(parts[at:end]).strip()
            if name in names:
                ways[at] += [[name, *rest] for rest in ways[end]]
        ways[at] = ways[at][:2]
    return ways[0]


def _quoted_items(text: str, field: str) -> list[str]:
    items, at = [], 0
    while True:
        found = _ITEM.match(text, at)
        item = "" if found is None else _doubled(found[1] or "") or (found[2] or "").strip()
        if found is None or not item:
            raise _refusal(field)(
                f"is {show(text)}; write names with commas between them, put a name with a "
                "comma into quotes, and write a quote inside it twice"
            )
        items.append(item)
        at = found.end()
        if not found[0].endswith(","):
            return items


def _value(text: str) -> str:
    whole = _WHOLE.fullmatch(text)
    return text if whole is None else _doubled(whole[1])


def _doubled(text: str) -> str:
    return text.replace('""', '"')


def _refusal(option: str) -> Callable[[str], InvalidParameter]:
    """Return what makes the refusal of an option, whose name begins the message, of its fault."""
    field = option.removeprefix("--").replace("-", "_")
    return lambda fault: InvalidParameter(f"{option} {fault}", field=field)
