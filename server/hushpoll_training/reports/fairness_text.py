"""A fairness report as text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from hushpoll_shared.cli.terminal import rendered


def report_text(report: Mapping[str, Any]) -> str:
    """Return a report, as :meth:`FairnessReport.to_dict` gives it, as lines of text."""
    reasons: dict[str, int] = {}
    level = f"{100 * report['confidence']:g} %"
    lines = [
        f"Groups by {' and '.join(report['attributes'])}: {report['n']} rows, "
        f"{report['outside']} in no group.",
        f"The reference, group 1, is {report['reference']} ({report['reference_is']}).",
    ]
    rates = Table()
    rates.add_column("group", overflow="fold")
    for heading in ("rows", *report["groups"][0]["rates"]):
        rates.add_column(heading, justify="right")
    for group in report["groups"]:
        cells = (_cell(found, reasons) for found in group["rates"].values())
        rates.add_row(group["group"], str(group["n"]), *cells)
    compared = Table()
    compared.add_column("group 0", overflow="fold")
    for heading in ("metric", "value", f"{level} interval", "bootstrap"):
        compared.add_column(heading, justify="right")
    for one in report["comparisons"]:
        compared.add_section()
        for metric, found in one["metrics"].items():
            if "withheld" in found:
                compared.add_row(one["group"], metric, _cell(found, reasons), "", "")
                continue
            boot = found["bootstrap"]
            between = _cell(boot, reasons) if "withheld" in boot else _range(boot)
            value = f"{found['value']:.4f}"
            compared.add_row(one["group"], metric, value, _range(found["closed_form"]), between)
    lines.append(rendered(rates))
    if report["comparisons"]:
        lines.append(rendered(compared))
    if len(report["groups"]) > 2:
        widest = Table()
        widest.add_column("widest spread", overflow="fold")
        for heading in ("value", f"{level} interval"):
            widest.add_column(heading, justify="right")
        for name, found in report["spreads"].items():
            if "withheld" in found:
                widest.add_row(name.replace("_", " "), _cell(found, reasons), "")
            else:
                limits = _range(found["closed_form"])
                widest.add_row(name.replace("_", " "), f"{found['value']:.4f}", limits)
        lines.append(rendered(widest))
    lines += [f"({number}) not shown: {reason}" for reason, number in reasons.items()]
    lines.append(report["intervals"])
    return "\n".join(lines)


def _cell(found: Mapping[str, Any], reasons: dict[str, int]) -> str:
    if "withheld" in found:
        return f"({reasons.setdefault(found['reason'], len(reasons) + 1)})"
    return f"{found['value']:.4f}"


def _range(limits: Mapping[str, Any]) -> str:
    upper = "no bound" if limits["upper"] is None else f"{limits['upper']:.4f}"
    return f"{limits['lower']:.4f} to {upper}"
