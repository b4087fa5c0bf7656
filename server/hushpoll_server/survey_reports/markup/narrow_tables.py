"""Tables that a narrow window shows as lists: each cell says which column it is of.

A style sheet sets the rows of such a table below each other and writes a cell's column, its
attribute ``data-column``, before what the cell holds.
"""

from __future__ import annotations

import re
from typing import Final

from markupsafe import escape

_TABLE: Final = re.compile(r"<table(?: class=\"[^\"]*\")?>.*?</table>", re.DOTALL)
_HEAD: Final = re.compile(r"<thead>(.*?)</thead>", re.DOTALL)
_COLUMN: Final = re.compile(r"<th scope=\"col\"([^>]*)>(.*?)</th>", re.DOTALL)
_SPAN: Final = re.compile(r"colspan=\"(\d+)\"")
_ROW: Final = re.compile(r"<tr>.*?</tr>", re.DOTALL)
_CELL: Final = re.compile(r"<(td|th)(?=[ >])([^>]*)>")
_UNSEEN: Final = re.compile(r"<span class=\"unseen\">.*?</span>", re.DOTALL)
_TAG: Final = re.compile(r"<[^>]*>")


def with_columns(html: str) -> str:
    """Return a page whose tables with one row of column headings have them at their cells, too.

    A table whose headings have links stays as it is, and is moved sideways in a narrow window.

    Parameters
    ----------
    html : str
        Made by our templates, which escape every text of the data: no ``<`` or ``>`` in an
        attribute or a text is anybody else's.
    """
    return _TABLE.sub(_labelled, html)


def _labelled(table: re.Match[str]) -> str:
    text = table[0]
    head = _HEAD.search(text)
    # A list hides the headings: a link there could not be followed any more.
    if head is None or head[1].count("<tr") != 1 or "<a " in head[1]:
        return text
    columns: list[str | None] = []
    for attributes, heading in _COLUMN.findall(head[1]):
        span = _SPAN.search(attributes)
        # Under a heading of several columns the first cell has its words, and the others follow it.
        rest = [None] * (int(span[1]) - 1 if span else 0)
        columns += [_TAG.sub("", _UNSEEN.sub("", heading)).strip(), *rest]

    def row(found: re.Match[str]) -> str:
        place = -1

        def cell(opening: re.Match[str]) -> str:
            nonlocal place
            place += 1
            kind, attributes = opening[1], opening[2]
            column = columns[place] if place < len(columns) else None
            if kind == "th" or "colspan" in attributes or column is None:
                return opening[0]
            return f'<td{attributes} data-column="{_attribute(column)}">'

        return _CELL.sub(cell, found[0])

    return text[: head.end()] + _ROW.sub(row, text[head.end() :])


def _attribute(words: str) -> str:
    """Return words of a page, which are escaped already, as the value of an attribute."""
    return words.replace('"', str(escape('"'))).replace("\n", " ")
