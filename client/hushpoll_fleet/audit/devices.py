"""The SDKs as black boxes: an answer goes in, a record comes out."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any, Final

from hushpoll_client import Published, randomize
from hushpoll_protocols.errors import HushpollError
from hushpoll_shared.spelling.json_values import JsonObject

Device = Callable[[Published, JsonObject, int], bytes]
"""Draw so many records of some answers to a survey: their bytes, one after the other."""

# A million draws take less than a minute; a process that hangs must not hang the audit.
_SECONDS: Final = 1800


class DeviceFailed(HushpollError):
    """An SDK that could not be run."""


def python_device(published: Published, answers: Mapping[str, Any], times: int) -> bytes:
    """Draw through ``hushpoll_client.randomize``, with the operating system's randomness."""
    return b"".join(randomize(published, answers).record for _ in range(times))


def browser_device(published: Published, answers: JsonObject, times: int) -> bytes:
    """Draw through the browser SDK's modules, in node.

    Raises
    ------
    DeviceFailed
        If there is no node, or it fails.
    """
    node = shutil.which("node")
    if node is None:
        raise DeviceFailed(
            "the browser SDK is run by node, and there is none on the PATH; install node 20 or "
            "newer, or leave the browser SDK out with --sdk python"
        )
    # Not imported: a folder of JavaScript that is installed beside the packages.
    tool = resources.files("hushpoll_client_js") / "tools" / "draw.js"
    with resources.as_file(tool) as script:
        done = subprocess.run(  # noqa: S603  # our own script, no shell
            [node, str(script), json.dumps(answers), str(times)],
            input=published.canonical,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    if done.returncode:
        lines = done.stderr.decode(errors="replace").splitlines()
        said = next((line for line in lines if "Error" in line), "it said nothing")
        raise DeviceFailed(f"node ended with code {done.returncode}: {said}")
    return done.stdout


SDKS: Final[dict[str, Device]] = {"python": python_device, "javascript": browser_device}
