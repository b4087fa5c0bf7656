"""What the test of report shape found, in words; all of it comes from a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hushpoll_shared.spelling.text import printable


def shape_text(found: Mapping[str, Any]) -> str:
    """Return the result of :meth:`AnalystClient.report_shape` as lines of text.

    Raises
    ------
    KeyError, TypeError, ValueError
        If it is no such result.
    """
    p_value, alpha = found["p_value"], float(found["alpha"])
    if p_value is None:
        head = "Shape of the reports: nothing to test."
    elif found["flagged"]:
        head = (
            f"Shape of the reports: FLAGGED, p = {float(p_value):.2g}. Some were not made by "
            f"devices: at most {alpha:.3g} of honest surveys are flagged."
        )
    else:
        head = (
            f"Shape of the reports: like those of devices, p = {float(p_value):.2g} (flagged at "
            f"{alpha:g}). Fakes that were made with care look like this too."
        )
    lines = [head]
    for one in found["attributes"]:
        chance = "not tested" if one["p_value"] is None else f"p = {float(one['p_value']):.2g}"
        lines.append(f"  {printable(one['name'])}: {chance}; {printable(one['finding'])}")
    return "\n".join(lines)
