from __future__ import annotations

import importlib
import json
import sys

import click
import pytest
from click.testing import CliRunner

from hushpoll_protocols import (
    HushpollError,
    InvalidParameter,
    ManifestRefused,
    MissingExtra,
    TransportError,
)
from hushpoll_shared.cli import terminal

ENDINGS: list[tuple[HushpollError | OSError, int]] = [
    (InvalidParameter("epsilon is 0", field="epsilon"), 1),
    (ManifestRefused("it lies", field="epsilon"), 1),
    (HushpollError("no"), 1),
    (MissingExtra("train", "training"), 3),
    (TransportError("no route", retryable=True), 4),
    (TransportError("bad certificate", retryable=False), 4),
    (TransportError("busy", retryable=True, status=503), 4),
    (TransportError("closed", retryable=False, status=410), 1),
    (FileNotFoundError(2, "No such file or directory", "records.hrec"), 1),
]


@pytest.mark.parametrize(("error", "code"), ENDINGS)
def test_an_error_ends_a_command_in_one_line_and_its_code(
    error: HushpollError | OSError, code: int
) -> None:
    @click.command()
    @terminal.reports_errors
    def command() -> None:
        raise error

    result = CliRunner().invoke(command)
    assert result.exit_code == code
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr


def test_a_missing_file_is_named() -> None:
    error = FileNotFoundError(2, "No such file or directory", "records.hrec")
    told = "records.hrec: No such file or directory; check the name and the folder"
    assert terminal.describe(error) == told
    assert terminal.describe(OSError("odd")) == "odd"
    assert terminal.describe(OSError()) == "OSError"
    assert terminal.describe(HushpollError("two\nlines")) == "two lines"


def test_a_fault_of_the_program_keeps_its_traceback() -> None:
    @click.command()
    @terminal.reports_errors
    def command() -> None:
        raise ZeroDivisionError

    assert isinstance(CliRunner().invoke(command).exception, ZeroDivisionError)


def test_a_closed_pipe_is_no_error_of_ours() -> None:
    @terminal.reports_errors
    def command() -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        command()


def test_a_wrong_option_is_usage() -> None:
    @click.command()
    @terminal.reports_errors
    def command() -> None: ...

    assert CliRunner().invoke(command, ["--nonsense"]).exit_code == 2


def test_json_and_text() -> None:
    @click.command()
    @terminal.json_option
    @terminal.reports_errors
    def command(as_json: bool) -> None:
        terminal.emit({"name": "é", "n": 1}, lambda: "one é", as_json=as_json)

    assert CliRunner().invoke(command).stdout == "one é\n"
    written = CliRunner().invoke(command, ["--json"])
    assert json.loads(written.stdout) == {"name": "é", "n": 1}
    assert "é" in written.stdout
    assert "--json" in CliRunner().invoke(command, ["--help"]).stdout


def test_nan_is_no_json() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        terminal.emit({"x": float("nan")}, "", as_json=True)


def test_progress_is_silent_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with terminal.progress("Counting", total=3) as step:
        step(1)
        step(2)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == ""


def test_waiting_tells_a_terminal_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with terminal.waiting("fairness of work") as say:
        say("queued")
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    with terminal.waiting("fairness of [work]") as say:
        say("running [red]")
    out, err = capsys.readouterr()
    assert out == ""
    assert "fairness of [work]" in err
    assert "running [red]" in err


def test_progress_draws_on_standard_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    with terminal.progress("Counting", total=2) as step:
        step(2)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Counting" in captured.err
    assert "2/2" in captured.err
    assert "/s" in captured.err


def test_without_click_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "click", None)
    monkeypatch.delitem(sys.modules, "hushpoll_shared.cli.terminal")
    with pytest.raises(MissingExtra) as caught:
        importlib.import_module("hushpoll_shared.cli.terminal")
    assert caught.value.extra == "cli"


@pytest.mark.parametrize(
    ("typed", "code", "said"),
    [
        ("y\n", 0, "done"),
        ("\n", 1, "Nothing was changed."),
        ("n\n", 1, "Nothing was changed."),
        (None, 1, "nobody answers the question; add --yes"),
    ],
)
def test_a_question_is_agreed_to_refused_or_answered_by_nobody(typed, code, said):
    @click.command()
    @terminal.reports_errors
    def close():
        terminal.agreed("Close it?")
        click.echo("done")

    result = CliRunner().invoke(close, input=typed)
    assert result.exit_code == code
    assert said in result.output
    assert "Interrupted" not in result.output
