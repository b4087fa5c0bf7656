"""``hushpoll ledger``: the respondent's own record."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from hushpoll_client.cli.device_options import AT_A_TERMINAL, ledger_option
from hushpoll_client.device.consent import survey_digest
from hushpoll_client.device.ledger import Ledger
from hushpoll_client.device.outcomes import Losses
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.cli.terminal import emit, json_option, json_text, reports_errors
from hushpoll_shared.spelling.text import check_name


@click.group()
def ledger() -> None:
    """Show, export, send or withdraw what this device has answered."""


@ledger.command()
@ledger_option
@json_option
@reports_errors
def show(path: Path, as_json: bool) -> None:
    """Show what was answered, and the epsilon spent per survey and overall."""
    document = _existing(path).to_dict()
    for entry in document["answers"]:
        entry.pop("report")
    emit(document, lambda: _shown(document, path), as_json=as_json)


@ledger.command()
@click.option(
    "--out",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="File to write; standard output by default.",
)
@ledger_option
@reports_errors
def export(out: Path | None, path: Path) -> None:
    """Write everything that the ledger holds about you as JSON, reports that wait included."""
    text = json_text(_existing(path).to_dict())
    if out is None:
        click.echo(text)
    else:
        out.touch(mode=0o600)
        out.write_text(text + "\n", encoding="utf-8")


@ledger.command()
@click.argument("name")
@ledger_option
@json_option
@reports_errors
def withdraw(name: str, path: Path, as_json: bool) -> None:
    """Withdraw from the survey NAME: stop what waits, and wipe all but digests and epsilon.

    What the server has received stays there: it cannot tell which record is yours.
    """
    record = _existing(path)
    key = survey_digest(check_name(name, field="name"))
    consented = any(one["survey"] == name for one in record.to_dict()["consents"])
    if not consented and all(entry.survey_digest != key for entry in record.entries()):
        raise InvalidParameter(
            f"{name!r} is no survey in {path}; `hushpoll ledger show` lists them", field="name"
        )
    wiped = record.withdraw(name)
    emit(
        {"survey": name, "wiped": wiped},
        f"Withdrawn from {name}. Answers wiped: {wiped}; digests and epsilon spent are kept. "
        "What the server has received stays there.",
        as_json=as_json,
    )


@ledger.command()
@click.option(
    "--seconds",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    help="How long to go on.",
)
@ledger_option
@json_option
@reports_errors
def send(seconds: float, path: Path, as_json: bool) -> None:
    """Send the reports that wait."""
    from hushpoll_client.delivery.timing import Pacing
    from hushpoll_client.device.device import device_file

    _existing(path)
    losses = Losses("", None)
    sender = device_file(path, AT_A_TERMINAL, Pacing())
    sender.join(losses)
    try:
        sender.flush(seconds)
        waiting = sender.outbox.waiting()
    finally:
        sender.leave(losses)
    refused = losses.by_reason()
    emit(
        {"waiting": waiting, "refused": refused},
        "\n".join(
            [f"reports that still wait: {waiting}"]
            + [f"refused for good ({reason}): {count}" for reason, count in refused.items()]
        ),
        as_json=as_json,
    )


def _existing(path: Path) -> Ledger:
    if not path.exists():
        raise InvalidParameter(
            f"there is no ledger at {path}: nothing was answered here, or --ledger names another "
            "file",
            field="ledger",
        )
    return Ledger.open(path)


def _shown(document: dict[str, Any], path: Path) -> str:
    lines = [f"{path}, read {datetime.now(UTC):%Y-%m-%d}"]
    for one in document["consents"]:
        lines.append(f"agreed {one['given']}: {one['survey']} of {one['server']}")
    for one in document["answers"]:
        what = f"{one['survey']} v{one['version']}" if one["survey"] else "a withdrawn survey"
        state = one["state"] + (f" ({one['reason']})" if one["reason"] else "")
        lines.append(f"epsilon {one['epsilon']}: {what}, {state}  sha256={one['digest']}")
    lines.append(f"epsilon spent in all: {document['epsilon_spent']}")
    return "\n".join(lines)
