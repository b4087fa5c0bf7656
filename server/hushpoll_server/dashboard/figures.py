"""Charts as pages and downloads show them: SVG inside the page, files, and tables of the data."""

from __future__ import annotations

import json
from typing import Final

from flask import Response
from markupsafe import Markup

from hushpoll_server.charts.drawing import NotDrawn
from hushpoll_server.charts.labels import with_full_names
from hushpoll_server.charts.specifications import Chart, alone, as_one_image
from hushpoll_server.dashboard.frame import finished
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.http.tables import table_file
from hushpoll_server.survey_reports.markup.shown import html_of_bands
from hushpoll_shared.survey.published import Published
from hushpoll_shared.tables.result_table import ResultTable
from hushpoll_shared.tables.table_files import TABLE_FORMATS

MEDIA_TYPES: Final = {
    "svg": "image/svg+xml",
    "png": "image/png",
    "json": "application/json",
}


def inline(chart: Chart, label_id: str) -> Markup | None:
    """Return a chart as bands or SVG, told by `label_id`; None where it could not be drawn."""
    if chart.panels:
        return html_of_bands(chart.panels, label_id)
    try:
        svg = as_one_image(services().drawing.draw(chart.specification, "svg").decode())
    except NotDrawn:
        return None
    opening = f'<svg role="img" aria-labelledby="{label_id}" '
    svg = with_full_names(svg, chart.full_names)
    # The drawing process escapes every text of the data, and so does what adds the whole names.
    return Markup(svg.replace("<svg ", opening, 1))  # noqa: S704


def download(
    form: str, name: str, chart: Chart, table: ResultTable, published: Published
) -> Response:
    """Return a chart, or all the data behind it, as a file.

    Raises
    ------
    Refused
        ``not-found`` for a form that is none of `MEDIA_TYPES` and no table's; ``unavailable``
        where the picture could not be drawn.
    """
    if form in TABLE_FORMATS:
        return finished(table_file(form, name, table, published))
    whole = alone(chart, for_png=form == "png")
    if form == "json":
        body = json.dumps(whole, indent=1).encode()
    elif form in ("svg", "png"):
        try:
            body = services().drawing.draw(whole, "svg" if form == "svg" else "png")
            if form == "svg":
                body = with_full_names(as_one_image(body.decode()), chart.full_names).encode()
        except NotDrawn as error:
            raise Refused("unavailable", str(error), retry_after=5) from error
    else:
        raise Refused("not-found", "nothing is at this address")
    answer = Response(body, mimetype=MEDIA_TYPES[form])
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}.{form}"'
    return finished(answer)
