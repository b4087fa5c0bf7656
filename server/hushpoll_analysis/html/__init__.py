"""How all HTML looks: one style sheet, and the macros of tables and figures that it styles.

Hosted pages load the style sheet, and reports carry it inside.
"""

from importlib import resources
from pathlib import Path
from typing import Final

TEMPLATES: Final = Path(__file__).parent / "templates"
"""Macros of Jinja for tables and figures."""


def style_sheet() -> str:
    """Return the style sheet; its colours follow the reader's light or dark setting."""
    return (resources.files(__package__) / "style.css").read_text(encoding="utf-8")
