"""Texts as cells of a CSV file that no spreadsheet takes for a formula, and back.

A spreadsheet runs a cell that begins with ``=``, ``+``, ``-`` or ``@``, or with white space that it
skips: a category of a stranger's survey could read other cells and send them away. An apostrophe
before it makes it a text. A text in which apostrophes come before such a character gets one more,
so that each cell stands for one text.
"""

from __future__ import annotations

from typing import Final

_MARK: Final = "'"
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")


def escaped(text: str) -> str:
    """Return the cell that stands for a text, with one more apostrophe if it needs one."""
    return _MARK + text if _is_formula(text) else text


def unescaped(cell: str) -> str:
    """Return the text that a cell stands for; the inverse of `escaped`."""
    return cell[1:] if cell.startswith(_MARK) and _is_formula(cell) else cell


def _is_formula(text: str) -> bool:
    return text.lstrip(_MARK).startswith(_FORMULA)
