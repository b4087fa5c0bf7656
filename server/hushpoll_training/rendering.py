"""Tables as plain text, of one width wherever they are printed."""

from __future__ import annotations

from io import StringIO

from rich.console import Console
from rich.table import Table

WIDTH = 100
"""Characters that a table takes at most."""


def rendered(table: Table) -> str:
    """Return a table as lines of text without colours."""
    buffer = StringIO()
    Console(file=buffer, width=WIDTH, color_system=None).print(table)
    return buffer.getvalue().rstrip("\n")
