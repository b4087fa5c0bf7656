"""An audit of fairness as text (extra ``cli``): a table, and what follows from it.

It is made from the JSON that both sides give, the machine that audits and the client that asked a
server to. Whatever is shown is made printable: the client's comes from a server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rich.table import Table

from hushpoll_shared.cli.rendering import rendered
from hushpoll_shared.spelling.text import printable

_LABELS: Final = {
    "DI": "DI = P0/P1, fair at 1",
    "SPD": "SPD = P1-P0, fair at 0",
    "EOD": "EOD = TPR1-TPR0, fair at 0",
    "OAD": "OAD = ACC1-ACC0, fair at 0",
}


def fairness_text(found: Mapping[str, Any]) -> str:
    """Return a report as lines of text, its tables at most 100 characters wide.

    Parameters
    ----------
    found : mapping
        What ``to_dict`` of an audit gives, of two groups or of several; of these there is one
        table a group, beside the reference.

    Raises
    ------
    KeyError, TypeError, ValueError
        If it is no such report.
    """
    if "groups" not in found:
        return "\n".join([_pair(found), _reading(found)])
    about = found["protected"]
    pairs = [
        _pair(
            {
                **found,
                **{part: one[part] for part in ("expected", "shares", "metrics", "rates")},
                "protected": {
                    **about,
                    "privileged": about["reference"],
                    "unprivileged": [one["group"]],
                },
            }
        )
        for one in found["groups"]
    ]
    return "\n\n".join([*pairs, _reading(found)])


def _pair(found: Mapping[str, Any]) -> str:
    survey, about = found["survey"], found["protected"]
    name = printable(about["attribute"])
    how = "in clear"
    if about["protocol"] is not None:
        how = f"{printable(about['protocol'])}, epsilon {printable(about['epsilon'])}"
    reasons: dict[str, int] = {}
    table = Table()
    table.add_column("metric", overflow="fold")
    for heading in ("estimate", "std. error", f"{100 * float(found['confidence']):g} % interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("conclusion", overflow="fold")
    for section in ("metrics", "rates", "shares"):
        table.add_section()
        for key, one in found[section].items():
            label = f"share, {key} group" if section == "shares" else _LABELS.get(key, key)
            table.add_row(printable(label), *_cells(one, reasons))
    seen = "" if about["protocol"] is None else f"; nobody's {name} was seen"
    return "\n".join(
        [
            f"{printable(survey['name'])} version {int(survey['version'])}, {int(found['n'])} "
            f"records; digest {printable(survey['digest'])[:16]}",
            f"{name} ({how}): 1, privileged, is {_either(about['privileged'])}; 0 is "
            f"{_either(about['unprivileged'])}. The model is {printable(found['origin'])}.",
            f"Fairness {printable(found['setting'])}{seen}.",
            rendered(table),
            *(f"({number}) {reason}" for reason, number in reasons.items()),
            *_outlook(found),
            *_poisoning(found),
        ]
    )


def _reading(found: Mapping[str, Any]) -> str:
    return f"{printable(found['intervals'])} The same is true of the conclusions."


def _either(categories: list[str]) -> str:
    return " or ".join(map(printable, categories))


def _cells(found: Mapping[str, Any], reasons: dict[str, int]) -> tuple[str, str, str, str]:
    if "withheld" in found:
        number = reasons.setdefault(printable(found["reason"]), len(reasons) + 1)
        return printable(found["withheld"]).replace("-", " "), "", f"({number})", ""
    value, error, lower, upper = (
        None if found[key] is None else float(found[key])
        for key in ("value", "standard_error", "lower", "upper")
    )
    between = f"{_number(lower)} to {_number(upper)}"
    if lower is None and upper is None:
        between = "no bound"
    elif upper is None:
        between = f"from {_number(lower)}, no bound"
    shown = ("unknown", "") if value is None else (_number(value), _number(error))
    return *shown, between, printable(found.get("conclusion", ""))


def _number(value: float | None) -> str:
    return "no bound" if value is None else f"{value:.4f}"


def _outlook(found: Mapping[str, Any]) -> list[str]:
    """Say what a survey of this size can find, and where it would seldom conclude."""
    expected = found["expected"]
    shares = (
        f"{100 * float(expected['unprivileged']):.3g} % in group 0, "
        f"{100 * float(expected['positive']):.3g} % predicted positive, "
        f"{100 * float(expected['base']):.3g} % with a positive label"
    )
    smallest, seldom = [], []
    for name, one in found["metrics"].items():
        if one.get("chance_to_conclude") is None:
            continue
        least = one["smallest_detectable"]
        word = "none, however large" if least is None else f"{float(least):.3g}"
        smallest.append(f"{printable(name)} {word}")
        if one["seldom_concludes"]:
            chance = 100 * float(one["chance_to_conclude"])
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


def _poisoning(found: Mapping[str, Any]) -> list[str]:
    """Say what the metrics may be without fake reports."""
    ranges, share = [], 0.0
    for name, one in found["metrics"].items():
        part = one.get("poisoning")
        if part is None:
            continue
        share = float(part["fake_share"])
        ends = [None if part[end] is None else float(part[end]) for end in ("lowest", "highest")]
        between = " to ".join("no bound" if end is None else f"{end:.3f}" for end in ends)
        ranges.append(f"{printable(name)} {between}")
    if not ranges:
        return []
    return [
        f"If {100 * share:g} % of the reports were fake, the others alone may give: "
        f"{', '.join(ranges)}."
    ]
