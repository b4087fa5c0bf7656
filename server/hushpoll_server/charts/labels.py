"""Names of categories as labels of an axis: cut where they are long, and never two alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

ELLIPSIS: Final = "…"
_LABEL: Final = re.compile(r"(<text[^<>]*>)([^<>]*)(</text>)")


def short_labels(names: Sequence[str], most: int) -> dict[str, str]:
    """Return a label of at most `most` (at least 12) characters for each name; no two are the same.

    A long name loses its end. Of several that begin alike, each loses its middle instead, and if
    they end alike too, they get a number.
    """
    cut = {name: name if len(name) <= most else name[: most - 1] + ELLIPSIS for name in names}
    alike = Counter(cut.values())
    tail = most // 2
    for name in names:
        if alike[cut[name]] > 1 and len(name) > most:
            cut[name] = name[: most - tail - 1] + ELLIPSIS + name[-tail:]
    alike = Counter(cut.values())
    taken = {label for label, times in alike.items() if times == 1}
    for name in names:
        label = cut[name]
        number = 1
        while alike[label] > 1 and cut[name] in taken | {label}:
            number += 1
            end = f"{ELLIPSIS} {number}"
            cut[name] = name[: most - len(end)] + end
        taken.add(cut[name])
    return cut


def with_full_names(svg: str, full: Mapping[str, str]) -> str:
    """Return an SVG of escaped texts in which each cut label has its whole name as a tooltip."""
    titles = {
        escape(label, quote=False): escape(name, quote=False)
        for label, name in full.items()
        if label != name
    }
    if not titles:
        return svg

    def titled(match: re.Match[str]) -> str:
        begin, label, end = match.groups()
        title = titles.get(label)
        return match[0] if title is None else f"{begin}{label}<title>{title}</title>{end}"

    return _LABEL.sub(titled, svg)
