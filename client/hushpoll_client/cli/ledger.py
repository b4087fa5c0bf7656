"""``hushpoll ledger``: show, export, send and withdraw the answers of this device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar

import click

from hushpoll_client.config import ClientConfig, switched_off_by
from hushpoll_client.device.consent import survey_digest
from hushpoll_client.device.ledger import Ledger, LedgerDocument
from hushpoll_client.device.outcomes import ClientDisabled, Losses
from hushpoll_client.device.withdrawals import Withdrawal
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.cli.out_file import write_text
from hushpoll_shared.cli.terminal import CommandGroup, emit, json_option, json_text, reports_errors
from hushpoll_shared.spelling.text import check_name

_Command = TypeVar("_Command", bound=Callable[..., object])

AT_A_TERMINAL: Final = ClientConfig(
    attempts=2,
    connect_timeout=3.0,
    read_timeout=20.0,
    exchange_timeout=20.0,
    wait=30.0,
    exit_patience=0.0,
    raise_faults=True,
    parting=20.0,
)
"""Settings for a command at which a person waits: it gives up soon and says what failed."""


def ledger_option(command: _Command) -> _Command:
    """Add ``--ledger``, passed to the command as `path`: a Path."""
    return click.option(
        "--ledger",
        "path",
        envvar="HUSHPOLL_LEDGER",
        type=click.Path(dir_okay=False, path_type=Path),
        default=lambda: Path(click.get_app_dir("hushpoll")) / "ledger.sqlite",
        show_default="in your configuration folder",
        help="File of consents, answers and epsilon spent; readable by you alone.  "
        "[env: HUSHPOLL_LEDGER]",
    )(command)


@click.group(cls=CommandGroup)
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
        write_text(out, text + "\n")


@ledger.command()
@click.argument("name")
@ledger_option
@json_option
@reports_errors
def withdraw(name: str, path: Path, as_json: bool) -> None:
    """Withdraw from the survey NAME: wipe all but digests and epsilon, and take the reports back.

    The server deletes a report that it has not sealed yet. What is released stays there: it cannot
    tell which record is yours. Epsilon and tokens stay spent. Where the server does not answer,
    `hushpoll ledger send` asks it again.
    """
    from hushpoll_client.delivery.timing import Pacing

    record = _existing(path)
    key = survey_digest(check_name(name, field="name"))
    consented = any(consent["survey"] == name for consent in record.to_dict()["consents"])
    known = consented or any(entry.survey_digest == key for entry in record.entries())
    if not known:
        raise InvalidParameter(
            f"{name!r} is no survey in {path}; `hushpoll ledger show` lists them", field="name"
        )
    unable = record.unable(name)
    wiped = record.withdraw(name)
    seconds = 0.0 if switched_off_by(AT_A_TERMINAL) else AT_A_TERMINAL.wait
    told = record.withdrawals.ask(
        config=AT_A_TERMINAL, pacing=Pacing(), seconds=seconds, survey=name
    )
    told = replace(told, unable=told.unable + unable)
    emit(
        {"survey": name, "wiped": wiped, **_counts(told)},
        "\n".join(
            [
                f"Withdrawn from {name}. Answers wiped: {wiped}; digests and epsilon spent are "
                "kept.",
                *_told(told),
            ]
        ),
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
    """Send the reports that wait, and ask servers again to take back what was withdrawn."""
    from hushpoll_client.delivery.timing import Pacing
    from hushpoll_client.device.device import device_file

    if switch := switched_off_by(AT_A_TERMINAL):
        raise ClientDisabled(f"hushpoll is switched off by {switch}: nothing is sent")
    record = _existing(path)
    losses = Losses("", None)
    file = device_file(path, AT_A_TERMINAL, Pacing())
    file.join(losses)
    try:
        file.flush(seconds)
        waiting = file.outbox.waiting()
        told = record.withdrawals.ask(config=AT_A_TERMINAL, pacing=Pacing(), seconds=seconds)
    finally:
        file.leave(losses)
    refused = losses.by_reason()
    emit(
        {"waiting": waiting, "refused": refused, **_counts(told)},
        "\n".join(
            [f"reports that still wait: {waiting}"]
            + [f"refused for good ({reason}): {count}" for reason, count in refused.items()]
            + _told(told)
        ),
        as_json=as_json,
    )


def _counts(told: Withdrawal) -> dict[str, int]:
    return {name: getattr(told, name) for name in _SAID}


_SAID: Final = {
    "deleted": "Reports that the server had not sealed, and has deleted: {}.",
    "not_here": "Reports that are no longer there (released), or were never received: {}.",
    "unanswered": "Reports whose server did not answer: {}; `hushpoll ledger send` asks it again.",
    "unable": "Reports that cannot be taken back (made by an earlier release, or refused by the "
    "server): {}.",
}


def _told(told: Withdrawal) -> list[str]:
    """Say what became of the reports, without the lines that would say 0."""
    return [line.format(number) for name, line in _SAID.items() if (number := _counts(told)[name])]


def _existing(path: Path) -> Ledger:
    if not path.exists():
        raise InvalidParameter(
            f"there is no ledger at {path}: nothing was answered here, or --ledger names another "
            "file",
            field="ledger",
        )
    return Ledger.open(path)


def _shown(document: LedgerDocument, path: Path) -> str:
    lines = [f"{path}, read {datetime.now(UTC):%Y-%m-%d}"]
    for consent in document["consents"]:
        lines.append(f"agreed {consent['given']}: {consent['survey']} of {consent['server']}")
    for entry in document["answers"]:
        survey = (
            f"{entry['survey']} v{entry['version']}" if entry["survey"] else "a withdrawn survey"
        )
        state = entry["state"] + (f" ({entry['reason']})" if entry["reason"] else "")
        if entry["survey"] and not entry["withdrawable"]:
            state += ", cannot be taken back: an earlier release made it"
        lines.append(f"epsilon {entry['epsilon']}: {survey}, {state}  sha256={entry['digest']}")
    for pending in document["withdrawals"]:
        lines.append(f"not yet taken back: a report of {pending['survey']} at {pending['server']}")
    lines.append(f"epsilon spent in all: {document['epsilon_spent']}")
    return "\n".join(lines)
