"""``hushpoll fairness survey NAME``: its server estimates the fairness of a collected survey."""

from __future__ import annotations

from typing import Any

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.kept_results import delete_command, job_line, list_command
from hushpoll_client.cli.options import looking, statistic_command, timeout_option
from hushpoll_shared.cli.model_options import cross_fitting_options
from hushpoll_shared.cli.named_values import named_values
from hushpoll_shared.cli.statistic_commands import FAIRNESS
from hushpoll_shared.cli.terminal import waiting
from hushpoll_shared.wire.audit_documents import AuditDocument
from hushpoll_shared.wire.documents import AuditEntry


@click.command()
@cross_fitting_options
@click.option(
    "--seed",
    type=click.IntRange(0, 2**31 - 1),
    default=0,
    show_default=True,
    help="Seed of the folds and of the learner.",
)
@click.option("--learner", metavar="NAME", help="The training algorithm.  [default: the server's]")
@click.option(
    "--encoding", metavar="NAME", help="How records become features.  [default: the server's]"
)
@timeout_option("Seconds to wait for the worker.")
@statistic_command(FAIRNESS, waits=True)
def survey(
    client: AnalystClient,
    name: str,
    version: int,
    params: tuple[str, ...],
    expect: tuple[str, ...],
    timeout: float,
    **settings: Any,
) -> AuditDocument:
    """Estimate a classifier's group fairness from the randomised answers of the survey NAME.

    Group metrics, such as DI and SPD, and the group rates behind them, with intervals. The
    protected attribute is not needed in clear. A running hushpoll worker of the server cross-fits
    the models, so that each record is predicted by a model that never saw it. Where the records
    cannot tell, the answer says so. The token needs the scopes train and read.
    """
    if settings["reference"] is not None and settings["groups"] is None:
        raise click.UsageError("--reference needs --groups, the attribute that it is a category of")
    with waiting(f"fairness of {name}") as say:
        return client.fairness(
            name,
            version,
            parameters=named_values(params),
            expected=named_values(expect) or None,
            timeout=timeout,
            on_look=looking(say),
            **settings,
        )


def _audit(entry: AuditEntry) -> str:
    line, audit = job_line(entry["job"]), entry.get("audit")
    if not audit:
        return line
    groups = f"{', '.join(audit['unprivileged'])} beside {' or '.join(audit['privileged'])}"
    line += f"\n  {audit['attribute']}: {groups}; {audit['n']:,} records"
    found = [
        f"{name}: {metric['conclusion']}"
        for name, metric in (audit.get("metrics") or {}).items()
        if metric.get("conclusion")
    ]
    found += [f"{words}: {number}" for words, number in (audit.get("disparities") or {}).items()]
    return f"{line}\n  {'; '.join(found)}" if found else line


list_audits = list_command(
    "audit",
    "audits",
    AnalystClient.audits,
    _audit,
    "List the fairness audits of the survey NAME, and what they found.",
)
delete_audit = delete_command("audit", AnalystClient.delete_audit)
