"""An audit of fairness as text (extra ``cli``): a table, and what follows from it.

It is made from the JSON of the machine that audits, or of the client that asked a server for it.
Every text is made printable before it is shown, since the client's comes from a server.
"""

from __future__ import annotations

from rich.table import Table

from hushpoll_shared.cli.result_text import NO_QUESTIONS, Questions, asked_lines, with_three_digits
from hushpoll_shared.cli.terminal import rendered
from hushpoll_shared.group_metrics import METRICS
from hushpoll_shared.spelling.text import printable
from hushpoll_shared.wire.audit_documents import AuditDocument, GroupDocument, MetricDocument


def fairness_text(report: AuditDocument, questions: Questions = NO_QUESTIONS) -> str:
    """Return a report as lines of text of at most 80 columns.

    Parameters
    ----------
    report : mapping
        What ``to_dict`` of an audit gives, of two groups or of several; of these there is one
        table a group, beside the reference.
    questions : mapping of str to str
        What is asked by each attribute.

    Raises
    ------
    KeyError, TypeError, ValueError
        If it is no such report.
    """
    if "groups" not in report:
        return "\n".join([_pair(report, questions), _reading(report)])
    pairs = [_pair(_beside_the_reference(report, group), questions) for group in report["groups"]]
    return "\n\n".join([*pairs, *_together(report), _reading(report)])


def _beside_the_reference(report: AuditDocument, group: GroupDocument) -> AuditDocument:
    """Return what an audit of several groups found of one, as an audit of two groups has it."""
    about = report["protected"]
    return {
        **report,
        "expected": group["expected"],
        "shares": group["shares"],
        "metrics": group["metrics"],
        "rates": group["rates"],
        "protected": {
            **about,
            "privileged": about["reference"],
            "unprivileged": [group["group"]],
        },
    }


def _together(report: AuditDocument) -> list[str]:
    """Say what follows for all groups together, if it was asked for."""
    lines = []
    if "largest" in report:
        parts = []
        for name, number in report["largest"].items():
            value, _, between, _ = _cells(number, {})
            parts.append(f"{printable(name)} {value} ({between})")
        lines.append("Largest disparity of any group: " + ", ".join(parts) + ".")
    if "discoveries" in report:
        found = [
            f"{printable(one['group'])} {printable(one['metric'])} "
            f"(adjusted p {float(one['adjusted_p_value']):.2g})"
            for one in report["discoveries"]
        ]
        lines.append(
            f"Discoveries at the rate {float(report['rate']):.2g}: {', '.join(found) or 'none'}."
        )
    return [rendered(line) for line in lines]


def _pair(report: AuditDocument, questions: Questions) -> str:
    survey, about = report["survey"], report["protected"]
    name = printable(about["attribute"])
    how = "in clear"
    if about["protocol"] is not None:
        how = f"{printable(about['protocol'])}, epsilon {printable(about['epsilon'])}"
    reasons: dict[str, int] = {}
    table = Table()
    table.add_column("metric", overflow="fold")
    for heading in ("estimate", "std. error", f"{100 * float(report['confidence']):g} % interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("conclusion", no_wrap=True)
    for section in ("metrics", "rates", "shares"):
        table.add_section()
        for key, number in report[section].items():
            # A server may be newer and know a metric that this table does not have.
            label = METRICS[key].label if section == "metrics" and key in METRICS else key
            if section == "shares":
                label = f"share, {key} group"
            table.add_row(printable(label), *_cells(number, reasons))
    seen = "" if about["protocol"] is None else f"; {name} was never seen in clear"
    return rendered(
        f"{printable(survey['name'])} version {int(survey['version'])}, {int(report['n']):,} "
        "records",
        *map(printable, asked_lines([name], questions)),
        f"{name} ({how}): 1, privileged, is {_either(about['privileged'])}; 0 is "
        f"{_either(about['unprivileged'])}. The model is {printable(report['origin'])}.",
        f"Fairness {printable(report['setting'])}{seen}.",
        table,
        *(f"({number}) {reason}" for reason, number in reasons.items()),
        *_outlook(report),
        *_poisoning(report),
    )


def _reading(report: AuditDocument) -> str:
    return rendered(f"{printable(report['intervals'])} The same is true of the conclusions.")


def _either(categories: list[str]) -> str:
    return " or ".join(map(printable, categories))


def _cells(number: MetricDocument, reasons: dict[str, int]) -> tuple[str, str, str, str]:
    if "withheld" in number:
        footnote = reasons.setdefault(printable(number["reason"]), len(reasons) + 1)
        return printable(number["withheld"]).replace("-", " "), "", f"({footnote})", ""
    value, error, lower, upper = (
        _float(number[key]) for key in ("value", "standard_error", "lower", "upper")
    )
    between = f"{with_three_digits(lower)} to {with_three_digits(upper)}"
    if lower is None and upper is None:
        between = "no bound"
    elif upper is None:
        between = f"from {with_three_digits(lower)}, no bound"
    shown = (
        ("unknown", "") if value is None else (with_three_digits(value), with_three_digits(error))
    )
    return *shown, between, printable(number.get("conclusion", ""))


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)


def _outlook(report: AuditDocument) -> list[str]:
    """Say what a survey of this size can find, and where it would seldom conclude."""
    expected = report["expected"]
    shares = (
        f"{100 * float(expected['unprivileged']):.3g} % in group 0, "
        f"{100 * float(expected['positive']):.3g} % predicted positive, "
        f"{100 * float(expected['base']):.3g} % with a positive label"
    )
    smallest, seldom = [], []
    for name, metric in report["metrics"].items():
        concludes = metric.get("chance_to_conclude")
        if concludes is None:
            continue
        least = metric["smallest_detectable"]
        word = "none, however large" if least is None else f"{float(least):.3g}"
        smallest.append(f"{printable(name)} {word}")
        if metric["seldom_concludes"]:
            chance = 100 * float(concludes)
            seldom.append(f"{printable(name)} {chance:.0f} %")
    if not smallest:
        return []
    lines = [
        f"Smallest disparity that surveys of this n and epsilon find with power "
        f"{float(expected['power']):g} ({shares}; {printable(expected['basis'])}): "
        f"{', '.join(smallest)}."
    ]
    if seldom:
        lines.append(
            f"Such surveys seldom conclude, if there is no disparity: {', '.join(seldom)} of them."
        )
    return lines


def _poisoning(report: AuditDocument) -> list[str]:
    """Say what the metrics may be without fake reports."""
    ranges, turning, share = [], [], 0.0
    for name, metric in report["metrics"].items():
        part = metric.get("poisoning")
        if part is None:
            continue
        share = float(part["fake_share"])
        ends = [_float(part[end]) for end in ("lowest", "highest")]
        between = " to ".join(map(with_three_digits, ends))
        ranges.append(f"{printable(name)} {between}")
        turns = part.get("turning_share")
        if turns is not None:
            turning.append(f"{printable(name)} {100 * float(turns):.3g} %")
    if not ranges:
        return []
    lines = [
        f"If {100 * share:g} % of the reports were fake, the genuine ones alone could give: "
        f"{', '.join(ranges)}."
    ]
    if turning:
        lines.append(
            "Fake reports can have made the conclusion only if at least this part of all is fake: "
            f"{', '.join(turning)}."
        )
    return lines
