"""An audit of fairness as text (extra ``cli``): a table, and the reasons of what is withheld.

It is made from the JSON that both sides give, the machine that audits and the client that asked a
server to. Whatever is shown is made printable: the client's comes from a server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rich.table import Table

from hushpoll_shared.rendering import rendered
from hushpoll_shared.text import printable

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
        return _pair(found)
    about = found["protected"]
    return "\n\n".join(
        _pair(
            {
                **found,
                **{part: one[part] for part in ("shares", "metrics", "rates")},
                "protected": {
                    **about,
                    "privileged": about["reference"],
                    "unprivileged": [one["group"]],
                },
            }
        )
        for one in found["groups"]
    )


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
        ]
    )


def _either(categories: list[str]) -> str:
    return " or ".join(map(printable, categories))


def _cells(found: Mapping[str, Any], reasons: dict[str, int]) -> tuple[str, str, str]:
    if "withheld" not in found:
        value, error, lower, upper = (
            float(found[key]) for key in ("value", "standard_error", "lower", "upper")
        )
        return f"{value:.4f}", f"{error:.4f}", f"{lower:.4f} to {upper:.4f}"
    number = reasons.setdefault(printable(found["reason"]), len(reasons) + 1)
    return printable(found["withheld"]).replace("-", " "), "", f"({number})"
