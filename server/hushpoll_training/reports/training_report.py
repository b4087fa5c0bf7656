"""What a training gave, for people: utility and fairness, LDP beside NonDP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from hushpoll_shared.cli.terminal import rendered
from hushpoll_shared.group_metrics import METRICS, RATES
from hushpoll_training.evaluation.fairness.partition import BY_MANIFEST
from hushpoll_training.evaluation.metrics import FAIRNESS, GROUP_RATES, UTILITY
from hushpoll_training.learners.learner import privacy_sentence
from hushpoll_training.reports.fairness_text import report_text

_SECTIONS = (UTILITY, FAIRNESS, GROUP_RATES)
_LABELS: Mapping[str, str] = {
    "f1": "F1",
    "roc_auc": "ROC AUC of the scores",
    "balanced_acc": "balanced accuracy",
    **{name: metric.long_label for name, metric in METRICS.items()},
    **{
        f"{name}{group}": f"{name}{group}, {rate.title}, {which} group"
        for name, rate in RATES.items()
        for group, which in ((1, "privileged"), (0, "unprivileged"))
    },
}


def training_report(record: Mapping[str, Any]) -> str:
    """Return the record of a run as text; see :func:`hushpoll_training.runs.record.run_record`."""
    survey, target, rows = record["survey"], record["target"], record["rows"]
    lines = [
        f"{survey['name']} version {survey['version']}: {record['protocol']}, epsilon "
        f"{record['epsilon']}, split {record['split']}; digest {survey['digest'][:16]}",
        f"A model of {target['name']} ({target['positive']} is positive), fitted to "
        f"{rows['fitted']} of {rows['records']} records.",
    ]
    if record["privacy"]["kind"] != "none":
        lines.append(privacy_sentence(record["privacy"]))
    if record["ldp"] is None:
        return "\n".join([*lines, f"Utility and fairness are not measured: {record['unmeasured']}"])
    lines.append(f"Tested on {record['tested_on']}; NonDP is {record['baseline_is']}.")
    if rows["unanswered"]:
        lines.append(f"{rows['unanswered']} of them have no target and are left out.")
    columns = {"NonDP": record["baseline"], "LDP": record["ldp"]}
    lines.append(
        metrics_table(columns, _limits(record), f"{100 * record['confidence']:g} % of LDP")
    )
    for one in record["fairness"]["ldp"]:
        # the manifest's own groups are in the table
        if one["reference_is"] != BY_MANIFEST:
            lines += ["", report_text(one)]
    return "\n".join(lines)


def metrics_table(
    columns: Mapping[str, Mapping[str, Any]],
    limits: Mapping[str, tuple[float, float]] | None = None,
    heading: str = "interval",
) -> str:
    """Lay out metrics, one column per model, and say below why any is undefined.

    Parameters
    ----------
    columns : mapping of str to mapping
        By heading: per metric a number, or ``{"undefined": reason}``.
    limits : mapping of str to pair of float, optional
        Per metric, for a last column.
    heading : str
        Of that column.
    """
    reasons: dict[str, int] = {}
    table = Table()
    table.add_column("metric", overflow="fold")
    for name in (*columns, *([] if limits is None else [heading])):
        table.add_column(name, justify="right", no_wrap=True)
    for section in _SECTIONS:
        table.add_section()
        for name in section:
            cells = [_cell(metrics[name], reasons) for metrics in columns.values()]
            if limits is not None:
                between = limits.get(name)
                cells.append("" if between is None else f"{between[0]:.4f} to {between[1]:.4f}")
            table.add_row(_LABELS.get(name, name), *cells)
    notes = [f"({number}) undefined: {reason}" for reason, number in reasons.items()]
    return "\n".join([rendered(table), *notes])


def _limits(record: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Return the limits of the LDP model's metrics, those of its groups' rates included."""
    found = {name: one for name, one in record["intervals"]["ldp"].items() if one is not None}
    for report in record["fairness"]["ldp"]:
        if report["reference_is"] == BY_MANIFEST:
            unprivileged, privileged = (one["rates"] for one in report["groups"])
            parts = [report["comparisons"][0]["metrics"]]
            parts += [
                {f"{name}{code}": rate for name, rate in rates.items()}
                for code, rates in ((0, unprivileged), (1, privileged))
            ]
            for part in parts:
                found |= {
                    name: one["closed_form"] for name, one in part.items() if "closed_form" in one
                }
    return {
        name: (one["lower"], one["upper"])
        for name, one in found.items()
        if one["upper"] is not None
    }


def _cell(value: Any, reasons: dict[str, int]) -> str:
    if isinstance(value, Mapping):
        number = reasons.setdefault(value["undefined"], len(reasons) + 1)
        return f"undefined ({number})"
    return f"{value:.4f}"
