"""Tables of fairness in clear: reports of groups, and a certificate's intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from hushpoll_shared.tables.result_table import ResultTable, columns
from hushpoll_training.evaluation.documents import NumberDocument, ReportDocument, ReportsDocument

_NUMBERS: Final = columns(
    value="number",
    standard_error="number",
    lower="number",
    upper="number",
    bound="text",
    bootstrap_lower="number",
    bootstrap_upper="number",
    withheld="text",
)
_REPORTS: Final = (
    *columns(
        groups_by="text", group="text", reference="text", rows="whole", statistic="text",
        name="text",
    ),
    *_NUMBERS,
)  # fmt: skip
_LEVELS: Final = columns(
    notion="text",
    group="text",
    label="text",
    private="number",
    lower="number",
    upper="number",
    says_nothing="text",
)


def reports_table(document: ReportsDocument) -> ResultTable:
    """Return fairness reports on rows in clear as one table, with a row for each number.

    The document is that of ``hushpoll fairness predictions --json``.
    """
    reports = document["reports"]
    first = reports[0]
    about: dict[str, object] = {
        "setting": document["setting"],
        "confidence": first["confidence"],
        "bootstrap": f"{first['bootstrap']['kind']}, {first['bootstrap']['resamples']} resamples",
        "smallest group": first["smallest_group"],
    }
    about |= {f"file: {name}": value for name, value in document["inputs"].items()}
    for report in reports:
        named = " and ".join(report["attributes"])
        about[f"groups by {named}"] = (
            f"{report['n']} rows, {report['outside']} in no group; the reference is "
            f"{report['reference']} ({report['reference_is']})"
        )
        about[f"how to read those by {named}"] = report["intervals"]
    entries = (row for report in reports for row in _of_report(report))
    return ResultTable.of("fairness reports", _REPORTS, entries, about)


def _of_report(report: ReportDocument) -> Iterator[dict[str, object]]:
    none = dict.fromkeys(("group", "reference", "rows"))
    named = {**none, "groups_by": " and ".join(report["attributes"])}
    for group in report["groups"]:
        about = {**named, "group": group["group"], "rows": group["n"], "statistic": "rate"}
        for name, number in group["rates"].items():
            yield {**about, "name": name, **_number(number)}
    for compared in report["comparisons"]:
        about = {**named, "group": compared["group"], "reference": report["reference"]}
        for name, number in compared["metrics"].items():
            yield {**about, "statistic": "metric", "name": name, **_number(number)}
    # of two groups the widest spread is their difference, which the metrics show
    if len(report["groups"]) > 2:
        for name, number in report["spreads"].items():
            yield {**named, "statistic": "widest spread", "name": name, **_number(number)}


def _number(number: NumberDocument) -> dict[str, object]:
    cells = dict.fromkeys(column.name for column in _NUMBERS)
    if "withheld" in number:
        return {**cells, "withheld": number["reason"]}
    limits, resampled = number["closed_form"], number.get("bootstrap", {})
    return {
        **cells,
        "value": number["value"],
        "standard_error": number.get("standard_error"),
        **limits,
        "bound": "none above" if limits["upper"] is None else None,
        "bootstrap_lower": resampled.get("lower"),
        "bootstrap_upper": resampled.get("upper"),
    }


def certificate_table(document: Mapping[str, Any]) -> ResultTable:
    """Return a certificate of a private model as a table, with a row for each level of a notion.

    The document is that of ``hushpoll fairness certificate --json``.
    """
    names = ("of", "attribute", "rows", "confidence", "bound", "distance", "publishing")
    about = {name: document[name] for name in names}
    about |= {f"file: {name}": value for name, value in document["inputs"].items()}
    entries = (
        {
            **level,
            "notion": level["notion_is"],
            "group": level["group"] or "all rows",
            "says_nothing": "yes" if level["vacuous"] else "no",
        }
        for level in document["levels"]
    )
    return ResultTable.of("fairness certificate", _LEVELS, entries, about)
