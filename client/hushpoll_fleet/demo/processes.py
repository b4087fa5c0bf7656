"""Real ``hushpoll`` processes: a server that is always ended, and commands whose output is read.

The client side does not import the server side, so it runs the command instead.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, Self

from hushpoll_protocols.errors import HushpollError
from hushpoll_shared.spelling.json_values import JsonMembers

_HUSHPOLL: Final = (sys.executable, "-m", "hushpoll_client")
_LISTENING: Final = "listening on "
# The server promises to end within 15 s of SIGTERM.
_GRACE_SECONDS: Final = 20.0


class CommandFailed(HushpollError):
    """A ``hushpoll`` command that ended with another exit code than 0."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Server:
    """``hushpoll serve`` on a free loopback port, for the length of a ``with`` block.

    It runs in `directory`, where its database, admin token and log go; its start may take
    `seconds`. `url` and `token`, the admin's, are set once it has started.
    """

    def __init__(
        self, directory: Path, *, options: Sequence[str] = (), seconds: float = 60.0
    ) -> None:
        self._token_file = directory / "admin-token"
        self._log_file = directory / "server.log"
        self._seconds = seconds
        self._process: subprocess.Popen[str] | None = None
        self._directory = directory
        self.arguments = (
            *("serve", "--port", "0", "--database-url", "sqlite:///hushpoll.sqlite"),
            *("--admin-token-file", self._token_file.name, *options),
        )
        self.url = ""
        self.token = ""

    def __enter__(self) -> Self:
        with self._log_file.open("w", encoding="utf-8") as log:
            # Its own process group: Ctrl-C reaches this process alone, which then ends the server
            # in order.
            self._process = subprocess.Popen(  # noqa: S603  # this program, no shell
                [*_HUSHPOLL, *self.arguments],
                cwd=self._directory,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        try:
            self.url = self._await_url(self._process)
            self.token = self._token_file.read_text(encoding="utf-8").strip()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the server: by SIGTERM, and by force after 20 s."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        finally:
            if process.stdout is not None:
                process.stdout.close()

    def _await_url(self, process: subprocess.Popen[str]) -> str:
        stdout = process.stdout
        assert stdout is not None  # noqa: S101  # it was asked for as a pipe
        deadline = time.monotonic() + self._seconds
        while (line := _line_before(stdout, deadline)) is not None:
            if line.startswith(_LISTENING):
                return line.removeprefix(_LISTENING).strip()
        log = self._log_file.read_text(encoding="utf-8", errors="replace").strip()
        # The end of its output comes a moment before the end of the process.
        with suppress(subprocess.TimeoutExpired):
            process.wait(min(1.0, max(0.0, deadline - time.monotonic())))
        code = process.poll()
        state = "did not start in time" if code is None else f"ended with code {code}"
        raise CommandFailed(f"hushpoll serve {state}: {log[-2000:]}", code or 1)


def run_json(
    arguments: Sequence[str], environment: Mapping[str, str], directory: Path
) -> JsonMembers:
    """Run a ``hushpoll`` command with ``--json`` and return its document.

    Its standard error, where progress is drawn, goes through. `environment` comes on top of this
    process's own. Raises `CommandFailed`.
    """
    document: JsonMembers = json.loads(_printed([*arguments, "--json"], directory, environment))
    return document


def run_command(arguments: Sequence[str], directory: Path) -> None:
    """Run a ``hushpoll`` command and drop what it prints; may raise `CommandFailed`."""
    _printed(arguments, directory, {})


def _printed(arguments: Sequence[str], directory: Path, environment: Mapping[str, str]) -> str:
    done = subprocess.run(  # noqa: S603  # this program, no shell
        [*_HUSHPOLL, *arguments],
        env={**os.environ, **environment},
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise CommandFailed(
            f"hushpoll {arguments[0]} ended with code {done.returncode}; its message is above",
            done.returncode,
        )
    return done.stdout


def _line_before(stream: IO[str], deadline: float) -> str | None:
    """Read one line, or None at the end of the stream or of the time."""
    while (left := deadline - time.monotonic()) > 0:
        if select.select([stream], [], [], left)[0]:
            return stream.readline() or None
    return None
