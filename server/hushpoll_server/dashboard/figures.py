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
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.survey_reports.markup.shown import html_of_bands
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


def drawn(chart: Chart | None, label_id: str = "shows") -> dict[str, Chart | Markup | None]:
    """Return what a page's figure needs: ``chart``, and its picture as ``svg``."""
    return {"chart": chart, "svg": None if chart is None else inline(chart, label_id)}


def download(
    row: VersionRow, form: str, what: str, chart: Chart | None, table: ResultTable, none: str = ""
) -> Response:
    """Return a chart of a version, or all the data behind it, as a file.

    Refuses forms that are none of `MEDIA_TYPES` and no table's, pictures that cannot be drawn just
    now and, by the words `none`, those without a chart.
    """
    name = f"{row.name}-{row.version}-{what}"
    if form in TABLE_FORMATS:
        return finished(table_file(form, name, table, services().surveys.published(row)))
    if form not in MEDIA_TYPES or chart is None:
        raise Refused("not-found", none or "nothing is at this address")
    whole = alone(chart, for_png=form == "png")
    if form == "json":
        body = json.dumps(whole, indent=1).encode()
    else:
        try:
            body = services().drawing.draw(whole, "svg" if form == "svg" else "png")
            if form == "svg":
                body = with_full_names(as_one_image(body.decode()), chart.full_names).encode()
        except NotDrawn as error:
            raise Refused("unavailable", str(error), retry_after=5) from error
    answer = Response(body, mimetype=MEDIA_TYPES[form])
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}.{form}"'
    return finished(answer)
