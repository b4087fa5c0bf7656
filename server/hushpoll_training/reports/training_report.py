"""Reports as text for a terminal: a training's utility and fairness, and fairness by groups."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap
from typing import Any

from rich.table import Table

from hushpoll_shared.cli.terminal import COLUMNS, rendered
from hushpoll_shared.group_metrics import METRICS, RATES, UTILITY_LABELS
from hushpoll_training.evaluation.documents import (
    LimitsDocument,
    MetricValues,
    NumberDocument,
    ReportDocument,
    RunRecord,
)
from hushpoll_training.evaluation.fairness.partition import BY_MANIFEST
from hushpoll_training.evaluation.metrics import FAIRNESS, GROUP_RATES, UTILITY
from hushpoll_training.reports.protection import protections

_SECTIONS = (UTILITY, FAIRNESS, GROUP_RATES)
_LABELS: Mapping[str, str] = {
    **UTILITY_LABELS,
    "roc_auc": "ROC AUC of the scores",
    **{name: metric.long_label for name, metric in METRICS.items()},
    **{
        f"{name}{group}": f"{name}{group}, {rate.title}, {which} group"
        for name, rate in RATES.items()
        for group, which in ((1, "privileged"), (0, "unprivileged"))
    },
}


def training_report(record: RunRecord) -> str:
    """Return the record of a run as text; see :func:`hushpoll_training.runs.record.run_record`."""
    survey, target, rows = record["survey"], record["target"], record["rows"]
    lines = [
        f"{survey['name']} version {survey['version']}: {record['protocol']}, epsilon "
        f"{record['epsilon']}, split {record['split']}; digest {survey['digest'][:16]}",
        f"A model of {target['name']} ({target['positive']} is positive), fitted to "
        f"{rows['fitted']} of {rows['records']} records.",
    ]
    trust = ["Protected, and from whom:"]
    for item in protections(record):
        said = f"- {item.what}: from {item.from_whom}; {item.how}."
        trust += wrap(said, COLUMNS, subsequent_indent="  ", break_long_words=False)
    if record["ldp"] is None:
        unmeasured = f"Utility and fairness are not measured: {record['unmeasured']}"
        return rendered(*lines, unmeasured, *trust)
    lines.append(f"Tested on {record['tested_on']}; NonDP is {record['baseline_is']}.")
    if rows["unanswered"]:
        lines.append(f"{rows['unanswered']} of them have no target and are left out.")
    columns = {"NonDP": record["baseline"], "LDP": record["ldp"]}
    lines.append(
        metrics_table(columns, _intervals(record), f"{100 * record['confidence']:g} % of LDP")
    )
    for report in record["fairness"]["ldp"] or ():
        # the manifest's own groups are in the table
        if report["reference_is"] != BY_MANIFEST:
            lines += ["", report_text(report)]
    return rendered(*lines, *trust)


def metrics_table(
    columns: Mapping[str, MetricValues],
    intervals: Mapping[str, LimitsDocument] | None = None,
    heading: str = "interval",
) -> str:
    """Lay out metrics, one column per model, and say below why any is undefined or has no interval.

    A metric is a number, or ``{"undefined": reason}``; an interval, in a last column with this
    heading, has ``lower`` and ``upper``, which is None without a bound, or the ``reason`` why there
    is none.
    """
    reasons: dict[str, int] = {}
    table = Table()
    table.add_column("metric", overflow="fold")
    for name in (*columns, *([] if intervals is None else [heading])):
        table.add_column(name, justify="right", no_wrap=True)
    for section in _SECTIONS:
        table.add_section()
        for name in section:
            cells = [_cell(metrics[name], reasons) for metrics in columns.values()]
            if intervals is not None:
                cells.append(_between(intervals.get(name), reasons))
            table.add_row(_LABELS.get(name, name), *cells)
    notes = [f"({number}) {reason}" for reason, number in reasons.items()]
    return rendered(table, *notes)


def _intervals(record: RunRecord) -> dict[str, LimitsDocument]:
    """Return the LDP model's intervals, those of its groups' rates included, or why there is none.

    Groups' metrics of few rows have a value, which is arithmetic, and no interval, so that nobody
    reads a few people as a finding.
    """
    measured = record["intervals"]["ldp"] or {}
    intervals = {name: interval for name, interval in measured.items() if interval}
    for report in record["fairness"]["ldp"] or ():
        if report["reference_is"] == BY_MANIFEST:
            unprivileged, privileged = (group["rates"] for group in report["groups"])
            parts = [report["comparisons"][0]["metrics"]]
            parts += [
                {f"{name}{code}": rate for name, rate in rates.items()}
                for code, rates in ((0, unprivileged), (1, privileged))
            ]
            for part in parts:
                intervals |= {name: _limits(result) for name, result in part.items()}
    return intervals


def _limits(number: NumberDocument) -> LimitsDocument:
    if "closed_form" in number:
        return number["closed_form"]
    return {"withheld": number["withheld"], "reason": number["reason"]}


def _between(interval: LimitsDocument | None, reasons: dict[str, int]) -> str:
    if interval is None:
        return ""
    if "reason" in interval:
        number = reasons.setdefault(f"no interval: {interval['reason']}", len(reasons) + 1)
        return f"none ({number})"
    return _range(interval)


def _cell(value: Any, reasons: dict[str, int]) -> str:
    if isinstance(value, Mapping):
        number = reasons.setdefault(f"undefined: {value['undefined']}", len(reasons) + 1)
        return f"undefined ({number})"
    return f"{value:.4f}"


def report_text(report: ReportDocument) -> str:
    """Return a report, as :meth:`FairnessReport.to_dict` gives it, as lines of text."""
    reasons: dict[str, int] = {}
    level = f"{100 * report['confidence']:g} %"
    lines: list[Table | str] = [
        f"Groups by {' and '.join(report['attributes'])}: {report['n']} rows, "
        f"{report['outside']} in no group.",
        f"The reference, group 1, is {report['reference']} ({report['reference_is']}).",
    ]
    rates = Table()
    rates.add_column("group", overflow="fold")
    for heading in ("rows", *report["groups"][0]["rates"]):
        rates.add_column(heading, justify="right", no_wrap=True)
    for group in report["groups"]:
        cells = (_shown(result, reasons) for result in group["rates"].values())
        rates.add_row(group["group"], str(group["n"]), *cells)
    compared = Table()
    compared.add_column("group 0", overflow="fold")
    compared.add_column("metric", no_wrap=True)
    for heading in ("value", f"{level} interval", "bootstrap"):
        compared.add_column(heading, justify="right", no_wrap=True)
    for comparison in report["comparisons"]:
        compared.add_section()
        for metric, result in comparison["metrics"].items():
            if "withheld" in result:
                compared.add_row(comparison["group"], metric, _shown(result, reasons), "", "")
                continue
            boot = result["bootstrap"]
            between = _withheld(boot["reason"], reasons) if "withheld" in boot else _range(boot)
            value = f"{result['value']:.4f}"
            compared.add_row(
                comparison["group"], metric, value, _range(result["closed_form"]), between
            )
    lines.append(rates)
    if report["comparisons"]:
        lines.append(compared)
    if len(report["groups"]) > 2:
        widest = Table()
        widest.add_column("widest spread", overflow="fold")
        for heading in ("value", f"{level} interval"):
            widest.add_column(heading, justify="right", no_wrap=True)
        for name, result in report["spreads"].items():
            if "withheld" in result:
                widest.add_row(name.replace("_", " "), _shown(result, reasons), "")
            else:
                limits = _range(result["closed_form"])
                widest.add_row(name.replace("_", " "), f"{result['value']:.4f}", limits)
        lines.append(widest)
    lines += [f"({number}) not shown: {reason}" for reason, number in reasons.items()]
    return rendered(*lines, report["intervals"])


def _shown(number: NumberDocument, reasons: dict[str, int]) -> str:
    if "withheld" in number:
        return _withheld(number["reason"], reasons)
    return f"{number['value']:.4f}"


def _withheld(reason: str, reasons: dict[str, int]) -> str:
    return f"({reasons.setdefault(reason, len(reasons) + 1)})"


def _range(limits: LimitsDocument) -> str:
    upper = "no bound" if limits["upper"] is None else f"{limits['upper']:.4f}"
    return f"{limits['lower']:.4f} to {upper}"
