"""Tables as plain text, of one width wherever they are printed (extra ``cli``)."""

from __future__ import annotations

from io import StringIO
from typing import Final

from rich.console import Console
from rich.table import Table

WIDTH: Final = 100
"""Characters that a table takes at most."""


def rendered(table: Table) -> str:
    """Return a table as lines of text without colours; no text in it is taken for markup."""
    buffer = StringIO()
    Console(file=buffer, width=WIDTH, color_system=None, markup=False, emoji=False).print(table)
    return buffer.getvalue().rstrip("\n")
