"""The start of the ``hushpoll`` command, which says what to install where click is missing."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

from hushpoll_protocols.errors import MissingExtra
from hushpoll_shared.cli.plain_output import install


def program() -> None:
    """Run the command line as the whole of a process.

    Nothing that modules define is garbage, so no collection looks for some while they are loaded,
    or before the interpreter ends: together a fifth of a short command's time.
    """
    gc.disable()
    try:
        main()
    finally:
        gc.freeze()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line (the process's by default) and exit.

    The code is 0 done, 1 refused or failed, 2 usage, 3 an extra is missing, 4 network.
    """
    install()
    try:
        from hushpoll_client.cli.command_group import run
    except MissingExtra as error:
        sys.stderr.write(f"Error: {error}\n")
        raise SystemExit(3) from None
    raise SystemExit(run(arguments))
