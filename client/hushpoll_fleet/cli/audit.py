"""``hushpoll audit``: a certificate of the epsilon that the installed SDKs really spend."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import click

from hushpoll_fleet.audit import FEWEST_DRAWS, KINDS, MOST_DRAWS, SDKS, Finding, audit
from hushpoll_protocols import PROTOCOLS, parse_epsilon
from hushpoll_shared.cli.out_file import save_table, table_out_option
from hushpoll_shared.cli.terminal import (
    emit,
    json_option,
    new_table,
    progress,
    rendered,
    reports_errors,
)
from hushpoll_shared.reading.pairs import read_list
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.tables.result_table import ResultTable, columns

_FINDINGS: Final = columns(
    sdk="text",
    protocol="text",
    epsilon="number",
    realized_epsilon="number",
    lower_bound="number",
    share="number",
    reachable="number",
    draws="whole",
    verdict="text",
)

_KINDS: Final = [f"{name} is {kind.words}" for name, kind in KINDS.items()]

# A lower bound below this share of what is spent proves little.
SHARP = 0.95


def _names(_: click.Context, option: click.Parameter, value: str | None) -> tuple[str, ...]:
    names = tuple(PROTOCOLS) if value is None else tuple(read_list(value, field="--protocols"))
    for name in names:
        if name not in PROTOCOLS:
            raise click.BadParameter(
                f"{name!r} is no protocol; choose out of {', '.join(PROTOCOLS)}", param=option
            )
    return names


def _epsilons(_: click.Context, _option: click.Parameter, value: str) -> tuple[str, ...]:
    return tuple(
        str(parse_epsilon(text, field="epsilons")) for text in read_list(value, field="--epsilons")
    )


@click.command(name="audit")
@click.option(
    "--sdk",
    "sdks",
    type=click.Choice(list(SDKS)),
    multiple=True,
    help="SDK to audit; may be given twice.  [default: both]",
)
@click.option(
    "--protocols", callback=_names, metavar="NAME,...", help="Protocols to audit.  [default: all]"
)
@click.option(
    "--epsilons",
    callback=_epsilons,
    default="0.5,1,2,4",
    show_default=True,
    metavar="NUMBER,...",
    help="Epsilons that each protocol is audited at.",
)
@click.option(
    "--draws",
    type=click.IntRange(FEWEST_DRAWS, MOST_DRAWS),
    default=1_000_000,
    show_default=True,
    help="Records drawn for each SDK, protocol and epsilon.",
)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 0.5, min_open=True),
    default=0.001,
    show_default=True,
    help="Chance of each finding to accuse an SDK that spends no more than it says.",
)
@click.option(
    "--kind",
    type=click.Choice(list(KINDS)),
    default="alone",
    show_default=True,
    help=f"Which kind of question is audited: {'; '.join(_KINDS)}.",
)
@table_out_option
@json_option
@reports_errors
@click.pass_context
def command(
    ctx: click.Context,
    sdks: tuple[str, ...],
    protocols: tuple[str, ...],
    epsilons: tuple[str, ...],
    draws: int,
    alpha: float,
    kind: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """Measure from outside what the SDKs on this machine spend, and print a certificate.

    Two answers are randomised again and again through each SDK. From how often their records can be
    told apart follows a lower bound on the epsilon that is really spent. It may pass the epsilon
    that the protocol's exact law spends only with chance alpha; the command then ends with code 1.

    A device randomises an answer once. No respondent's answers are used here.
    """
    chosen = sdks or tuple(SDKS)
    runs = [(sdk, name, epsilon) for sdk in chosen for name in protocols for epsilon in epsilons]
    findings = []
    with progress("audits", len(runs)) as advance:
        for sdk, name, epsilon in runs:
            finding = audit(
                SDKS[sdk],
                name,
                epsilon,
                sdk=sdk,
                draws=draws,
                alpha=alpha,
                kind=kind,
            )
            findings.append(finding)
            advance(1)
    document = _document(findings, draws, alpha, kind)
    if out is not None:
        save_table(document, lambda: findings_table(document), out)
    emit(document, certificate(findings, draws, alpha, kind), as_json=as_json)
    if any(finding.overspends for finding in findings):
        ctx.exit(1)


def certificate(findings: list[Finding], draws: int, alpha: float, kind: str) -> str:
    """Return the findings as text."""
    numbers = ("epsilon", "realized", "bound", "share")
    table = new_table(("SDK", "protocol"), numbers, box=None, pad_edge=False)
    table.add_column("verdict")
    for finding in findings:
        table.add_row(
            finding.sdk,
            finding.protocol,
            f"{finding.epsilon:g}",
            f"{finding.realized_epsilon:.4f}",
            f"{finding.lower_bound:.4f}",
            f"{100 * finding.share:.1f} %",
            verdict(finding),
        )
    over = sum(finding.overspends for finding in findings)
    return rendered(
        f"hushpoll {version('hushpoll')}, Python {platform.python_version()}: "
        f"{draws} draws each, alpha {alpha:g}",
        *([] if kind == "alone" else [f"What is answered: {KINDS[kind].words}."]),
        "",
        table,
        "",
        f"{over} of {len(findings)} spend more than their law."
        if over
        else f"None of {len(findings)} was seen to spend more than its law.",
    )


def findings_table(document: Mapping[str, Any]) -> ResultTable:
    """Return the findings of ``hushpoll audit --json`` as a table."""
    about = {name: document[name] for name in ("hushpoll", "kind", "draws", "alpha")}
    return ResultTable.of("audit of devices", _FINDINGS, document["findings"], about)


def verdict(finding: Finding) -> str:
    """Say in a few words what a finding shows."""
    if finding.overspends:
        return "OVERSPENDS"
    if finding.share >= SHARP:
        return "holds"
    if finding.reachable < SHARP * finding.realized_epsilon:
        return "holds; more draws would show more"
    return "holds, and spends less than its law"


def _document(findings: list[Finding], draws: int, alpha: float, kind: str) -> JsonMembers:
    return {
        "hushpoll": version("hushpoll"),
        "kind": kind,
        "draws": draws,
        "alpha": alpha,
        "findings": [{**finding.to_dict(), "verdict": verdict(finding)} for finding in findings],
    }
