"""Estimates and cross-tables: charts with their tables, sentences and downloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from flask import Response, request

from hushpoll_server.charts.specifications import (
    MOST_CELLS_A_SIDE,
    Chart,
    cross_table_chart,
    estimates_chart,
)
from hushpoll_server.dashboard.figures import download, inline
from hushpoll_server.dashboard.frame import dashboard, member, page, private
from hushpoll_server.dashboard.surveys import of_survey, reached
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.services.people.roles import Role
from hushpoll_server.store.catalogue import VersionRow

CONFIDENCES: Final = ("0.8", "0.9", "0.95", "0.99")
SORTS: Final = {"order": "the questionnaire", "share": "share, largest first", "name": "name"}
# Of one page; the others have their tables, and a page of their own.
MOST_CHARTS: Final = 8
# Refusals that say that there is nothing to show yet, or any more.
NOTHING_YET: Final = ("not-released", "not-enough-reports", "records-deleted")

COLUMNS: Final = ("category", "frequency", "standard_error", "lower", "upper")
CELL_COLUMNS: Final = ("a", "b", "frequency", "standard_error", "lower", "upper")


@dashboard.get("/surveys/<name>/versions/<int:version>/estimates")
@private
def estimates(name: str, version: int) -> Response:
    """Show the shares of every question, or of one."""
    row = reached(name, version, Role.READER)
    parts = services()
    chosen = {"sort": _sort(), "confidence": _confidence(), "attribute": _one("attribute")}
    published = parts.surveys.published(row)
    questions = {
        attribute.name: attribute.question or attribute.name for attribute in published.attributes
    }
    frame = of_survey(row, "estimates") | {"chosen": chosen, "questions": questions}
    try:
        answer = parts.analysis.estimates(row, confidence=float(chosen["confidence"]))
    except Refused as refusal:
        return _nothing_yet("estimates.html", frame, refusal)
    parts.actions.looked(member().actor, "estimates", row.name, row.version)
    wanted = [
        attribute
        for attribute in answer["attributes"]
        if chosen["attribute"] in ("", attribute["name"])
    ]
    figures = [_figure(attribute, answer, chosen["sort"]) for attribute in wanted]
    for place, figure in enumerate(figures):
        if place < MOST_CHARTS:
            figure["svg"] = inline(figure["chart"], f"shows-{place}")
    return page(
        "estimates.html",
        **frame,
        answer=answer,
        figures=figures,
        most_charts=MOST_CHARTS,
        confidences=CONFIDENCES,
        sorts=SORTS,
    )


@dashboard.get("/surveys/<name>/versions/<int:version>/estimates/<attribute>.<form>")
@private
def estimates_file(name: str, version: int, attribute: str, form: str) -> Response:
    """Return the chart of one question, or the data behind it, as a file."""
    row = reached(name, version, Role.READER)
    parts = services()
    answer = parts.analysis.estimates(row, confidence=float(_confidence()))
    parts.actions.looked(member().actor, "estimates", row.name, row.version)
    for entry in answer["attributes"]:
        if entry["name"] == attribute:
            figure = _figure(entry, answer, _sort())
            name = f"{row.name}-{row.version}-{attribute}"
            return download(form, name, figure["chart"], figure["rows"], COLUMNS)
    raise Refused("not-found", "this survey has no such question")


@dashboard.get("/surveys/<name>/versions/<int:version>/cross-tables")
@private
def cross_tables(name: str, version: int) -> Response:
    """Show the joint shares of two questions, or let the user choose them."""
    row = reached(name, version, Role.READER)
    parts = services()
    published = parts.surveys.published(row)
    names = [attribute.name for attribute in published.attributes]
    a = _one("a") or names[0]
    b = _one("b") or next((name for name in names if name != a), "")
    chosen = {"a": a, "b": b, "confidence": _confidence()}
    frame = of_survey(row, "cross-tables") | {
        "chosen": chosen,
        "names": names,
        "confidences": CONFIDENCES,
    }
    if a == b or not {a, b} <= set(names):
        return page("cross_tables.html", **frame, refusal=None, table=None)
    try:
        table = _table(row, chosen)
    except Refused as refusal:
        return _nothing_yet("cross_tables.html", frame, refusal)
    chart = cross_table_chart(a, b, table["cells"], confidence=table["confidence"])
    return page(
        "cross_tables.html",
        **frame,
        refusal=None,
        table=table,
        chart=chart,
        svg=inline(chart, "shows"),
        grid=_grid(table["cells"]),
        most=MOST_CELLS_A_SIDE,
    )


@dashboard.get("/surveys/<name>/versions/<int:version>/cross-table.<form>")
@private
def cross_table_file(name: str, version: int, form: str) -> Response:
    """Return a cross-table's heat map, or the data behind it, as a file."""
    row = reached(name, version, Role.READER)
    a, b = _one("a"), _one("b")
    table = _table(row, {"a": a, "b": b, "confidence": _confidence()})
    chart = cross_table_chart(a, b, table["cells"], confidence=table["confidence"])
    file_name = f"{row.name}-{row.version}-{a}-{b}"
    return download(form, file_name, chart, table["cells"], CELL_COLUMNS)


def _table(row: VersionRow, chosen: Mapping[str, str]) -> dict[str, Any]:
    parts = services()
    table = parts.analysis.cross_table(
        row, chosen["a"], chosen["b"], confidence=float(chosen["confidence"])
    )
    parts.actions.looked(member().actor, "cross-tables", row.name, row.version)
    return table


def _figure(attribute: Mapping[str, Any], answer: Mapping[str, Any], sort: str) -> dict[str, Any]:
    rows: Sequence[Mapping[str, Any]] = attribute["categories"]
    if sort == "share":
        rows = sorted(rows, key=lambda row: -row["frequency"])
    elif sort == "name":
        rows = sorted(rows, key=lambda row: row["category"].casefold())
    chart: Chart = estimates_chart(
        attribute["name"], rows, confidence=answer["confidence"], total=len(rows)
    )
    return {"attribute": attribute, "rows": rows, "chart": chart, "svg": None}


def _grid(cells: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """Return the cells of the picture row by row, each row with its category."""
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for cell in cells:
        rows.setdefault(cell["a"], []).append(cell)
    drawn = list(rows.items())[:MOST_CELLS_A_SIDE]
    return [(category, row[:MOST_CELLS_A_SIDE]) for category, row in drawn]


def _nothing_yet(template: str, frame: dict[str, Any], refusal: Refused) -> Response:
    if refusal.code not in NOTHING_YET:
        raise refusal
    more = {"confidences": CONFIDENCES, "sorts": SORTS} | frame
    return page(template, **more, refusal=refusal, table=None, answer=None)


def _one(name: str) -> str:
    return request.args.get(name, "")[:64]


def _confidence() -> str:
    given = request.args.get("confidence", "0.95")
    return given if given in CONFIDENCES else "0.95"


def _sort() -> str:
    given = request.args.get("sort", "order")
    return given if given in SORTS else "order"
