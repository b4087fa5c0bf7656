"""The one style sheet of all HTML: hosted pages load it, and reports carry it inside."""

from importlib import resources


def style_sheet() -> str:
    """Return the style sheet; its colours follow the reader's light or dark setting."""
    return (resources.files(__package__) / "style.css").read_text(encoding="utf-8")
