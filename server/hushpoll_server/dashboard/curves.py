"""Curves of privacy, utility and fairness, drawn from an experiment's results.csv; nothing is kept.

The file comes in a form, so the page has no address of its own: its downloads are inside it.
"""

from __future__ import annotations

import base64
import json
import math
from typing import Any, Final

from flask import Response

from hushpoll_server.charts.curves import curves_chart
from hushpoll_server.charts.drawing import NotDrawn
from hushpoll_server.charts.specifications import Chart, as_one_image, with_light_colours
from hushpoll_server.dashboard.figures import MEDIA_TYPES, inline
from hushpoll_server.dashboard.forms import comes_back, given_file
from hushpoll_server.dashboard.frame import dashboard, page, private
from hushpoll_server.http.endpoint import services
from hushpoll_server.services.results.curves import CONFIDENCE, MOST_BYTES, read_curves
from hushpoll_shared.tables.result_table import ResultTable, columns
from hushpoll_shared.tables.table_files import TABLE_FORMATS

# The epsilon of NonDP is no number.
COLUMNS: Final = columns(
    line="text",
    metric="text",
    epsilon="number",
    mean="number",
    lower="number",
    upper="number",
    runs="whole",
)


@dashboard.get("/curve")
@private
def curve() -> Response:
    """Show the form."""
    return page("curve.html", figures=None, most=MOST_BYTES)


@dashboard.post("/curve")
@private
@comes_back(curve)
def draw_curve() -> Response:
    """Draw the curves of the file in the form."""
    curves = read_curves(given_file("results", "no file is chosen; choose results.csv", MOST_BYTES))
    figures = []
    for metric, words in (("accuracy", "accuracy"), ("gap", "gap")):
        points = [point for point in curves.points if point["metric"] == metric]
        if not any(point["mean"] is not None for point in points):
            continue
        without = curves.without.get(metric)
        chart = curves_chart(words, points, without)
        rows = [*points, *([] if without is None else [without])]
        figures.append(
            {
                "metric": metric,
                "chart": chart,
                "rows": rows,
                "svg": inline(chart, f"shows-{metric}"),
                "files": _files(chart, rows),
            }
        )
    return page(
        "curve.html",
        figures=figures,
        gap_is=curves.gap_is,
        confidence=CONFIDENCE,
        most=MOST_BYTES,
        infinity=math.inf,
    )


def _files(chart: Chart, rows: list[Any]) -> list[tuple[str, str, str]]:
    """Return form, file name and address of each download; the address holds the file."""
    alone = with_light_colours(chart.specification)
    entries = [row if math.isfinite(row["epsilon"]) else {**row, "epsilon": None} for row in rows]
    table = ResultTable.of("means over seeds", COLUMNS, entries, {"confidence": CONFIDENCE})
    bodies = {name: form.encode(table) for name, form in TABLE_FORMATS.items()}
    bodies["json"] = json.dumps(alone).encode()
    types = MEDIA_TYPES | {name: form.media_type for name, form in TABLE_FORMATS.items()}
    try:
        drawing = services().drawing
        bodies["svg"] = as_one_image(drawing.draw(alone, "svg").decode()).encode()
        bodies["png"] = drawing.draw(alone, "png")
    except NotDrawn:
        pass  # the page says so, and has the table
    return [
        (
            "Vega-Lite" if form == "json" else form.upper(),
            f"curves-{rows[0]['metric']}.{form}",
            f"data:{types[form]};base64,{base64.b64encode(bodies[form]).decode()}",
        )
        for form in ("svg", "png", *TABLE_FORMATS, "json")
        if form in bodies
    ]
