"""The hosted page's address as a QR code, which a phone reads from a poster or a letter."""

from __future__ import annotations

from io import BytesIO

import segno

# Black on white in both themes, with the quiet zone of the standard (ISO/IEC 18004): many readers
# do not find a light code on a dark ground.
_LOOK = {"border": 4, "dark": "#000", "light": "#fff"}


def qr_code(address: str, *, inline: bool) -> str:
    """Return the code of an address as SVG; 15 % of it may be unreadable (correction M)."""
    code = segno.make_qr(address, error="m")
    if inline:
        return str(code.svg_inline(scale=4, omitsize=True, **_LOOK))
    file = BytesIO()
    code.save(file, kind="svg", scale=8, **_LOOK)
    return file.getvalue().decode()
