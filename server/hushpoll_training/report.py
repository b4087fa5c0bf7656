"""What a training gave, for people: utility and fairness, LDP beside NonDP."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from typing import Any

from rich.console import Console
from rich.table import Table

from hushpoll_training.metrics import FAIRNESS, GROUP_RATES, UTILITY

WIDTH = 100

_SECTIONS = (UTILITY, FAIRNESS, GROUP_RATES)
_LABELS: Mapping[str, str] = {
    "f1": "F1",
    "roc_auc": "ROC AUC of the scores",
    "balanced_acc": "balanced accuracy",
    "DI": "DI = P0/P1, disparate impact, fair at 1",
    "SPD": "SPD = P1-P0, statistical parity difference, fair at 0",
    "EOD": "EOD = TPR1-TPR0, equal opportunity difference, fair at 0",
    "OAD": "OAD = ACC1-ACC0, overall accuracy difference, fair at 0",
    "P1": "P1, predicted positive, privileged group",
    "P0": "P0, predicted positive, unprivileged group",
    "TPR1": "TPR1, true positive rate, privileged group",
    "TPR0": "TPR0, true positive rate, unprivileged group",
    "FPR1": "FPR1, false positive rate, privileged group",
    "FPR0": "FPR0, false positive rate, unprivileged group",
    "ACC1": "ACC1, accuracy, privileged group",
    "ACC0": "ACC0, accuracy, unprivileged group",
}


def training_report(record: Mapping[str, Any]) -> str:
    """Return the record of a run as text; see :func:`hushpoll_training.record.run_record`."""
    survey, target, rows = record["survey"], record["target"], record["rows"]
    lines = [
        f"{survey['name']} version {survey['version']}: {record['protocol']}, epsilon "
        f"{record['epsilon']}, split {record['split']}; digest {survey['digest'][:16]}",
        f"A model of {target['name']} ({target['positive']} is positive), fitted to "
        f"{rows['fitted']} of {rows['records']} records.",
    ]
    if record["ldp"] is None:
        return "\n".join([*lines, f"Utility and fairness are not measured: {record['unmeasured']}"])
    lines.append(f"Tested on {record['tested_on']}; NonDP is {record['baseline_is']}.")
    if rows["unanswered"]:
        lines.append(f"{rows['unanswered']} of them have no target and are left out.")
    return "\n".join([*lines, metrics_table({"NonDP": record["baseline"], "LDP": record["ldp"]})])


def metrics_table(columns: Mapping[str, Mapping[str, Any]]) -> str:
    """Lay out metrics, one column per model, and say below why any is undefined.

    Parameters
    ----------
    columns : mapping of str to mapping
        By heading: per metric a number, or ``{"undefined": reason}``.
    """
    reasons: dict[str, int] = {}
    table = Table()
    table.add_column("metric", overflow="fold")
    for heading in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    for section in _SECTIONS:
        table.add_section()
        for name in section:
            cells = (_cell(metrics[name], reasons) for metrics in columns.values())
            table.add_row(_LABELS.get(name, name), *cells)
    notes = [f"({number}) undefined: {reason}" for reason, number in reasons.items()]
    return "\n".join([_rendered(table), *notes])


def _cell(value: Any, reasons: dict[str, int]) -> str:
    if isinstance(value, Mapping):
        number = reasons.setdefault(value["undefined"], len(reasons) + 1)
        return f"undefined ({number})"
    return f"{value:.4f}"


def _rendered(table: Table) -> str:
    buffer = StringIO()
    Console(file=buffer, width=WIDTH, color_system=None).print(table)
    return buffer.getvalue().rstrip("\n")
