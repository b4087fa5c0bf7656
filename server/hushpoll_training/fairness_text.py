"""An audit of fairness as text: what was audited, a table, and the reasons of what is withheld."""

from __future__ import annotations

from rich.table import Table

from hushpoll_analysis.fairness_groups import GroupsAudit
from hushpoll_analysis.fairness_report import FairnessAudit, Finding, Interval
from hushpoll_training.rendering import rendered

_LABELS = {
    "DI": "DI = P0/P1, fair at 1",
    "SPD": "SPD = P1-P0, fair at 0",
    "EOD": "EOD = TPR1-TPR0, fair at 0",
    "OAD": "OAD = ACC1-ACC0, fair at 0",
}


def audit_text(audit: FairnessAudit) -> str:
    """Return an audit as lines of text, the table at most 100 characters wide."""
    how = "in clear" if audit.protocol is None else f"{audit.protocol}, epsilon {audit.epsilon}"
    reasons: dict[str, int] = {}
    table = Table()
    table.add_column("metric", overflow="fold")
    for heading in ("estimate", "std. error", f"{100 * audit.confidence:g} % interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    for section in (audit.metrics, audit.rates, audit.shares):
        table.add_section()
        for name, found in section.items():
            label = f"share, {name} group" if section is audit.shares else _LABELS.get(name, name)
            table.add_row(label, *_cells(found, reasons))
    return "\n".join(
        [
            f"{audit.survey} version {audit.version}, {audit.n} records; digest "
            f"{audit.digest[:16]}",
            f"{audit.attribute} ({how}): 1, privileged, is {' or '.join(audit.privileged)}; 0 is "
            f"{' or '.join(audit.unprivileged)}. The model is {audit.origin}.",
            f"Fairness {audit.setting}; nobody's {audit.attribute} was seen."
            if audit.protocol is not None
            else f"Fairness {audit.setting}.",
            rendered(table),
            *(f"({number}) {reason}" for reason, number in reasons.items()),
        ]
    )


def groups_text(found: GroupsAudit) -> str:
    """Return an audit of several groups: one table a group, against the reference."""
    return "\n\n".join(audit_text(one) for one in found.audits.values())


def _cells(found: Finding, reasons: dict[str, int]) -> tuple[str, str, str]:
    if isinstance(found, Interval):
        return (
            f"{found.value:.4f}",
            f"{found.standard_error:.4f}",
            f"{found.lower:.4f} to {found.upper:.4f}",
        )
    number = reasons.setdefault(found.reason, len(reasons) + 1)
    return found.code.replace("-", " "), "", f"({number})"
