"""How far a job is: the steps that its work reports, and what of them is kept or passed on.

A step has numbers and words of this program alone: never a name, a category or an answer.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Final, TypeAlias

from hushpoll_analysis.records.records import Records, RecordStream

SECONDS: Final = 1.0
"""At most this often a worker writes how far a job is."""
PASSED_SECONDS: Final = 0.2
PIPE_BYTES: Final = 2**16
NON_BLOCKING: Final = False


@dataclass(frozen=True, slots=True)
class Step:
    """How far a job is."""

    text: str
    """What it does now, such as ``fits the model``."""
    done: int
    """Steps of that which are done, at least 0."""
    total: int | None
    """Of how many; None where it is not known."""
    unit: str
    """What a step is, in the plural."""

    def to_text(self) -> str:
        """Return it as the table of jobs holds it: JSON."""
        return json.dumps(asdict(self))


OnStep: TypeAlias = Callable[[Step], object]
"""Called with each step; it raises where the job may not go on."""


def counted(stream: RecordStream, total: int, say: OnStep) -> RecordStream:
    """Return a stream of the same records that says how many of `total` were read."""

    def parts() -> Iterator[Records]:
        done = 0
        say(Step("reads the records", 0, total, "records"))
        for part in stream.parts:
            yield part
            done += len(part)
            say(Step("reads the records", done, max(done, total), "records"))

    return RecordStream(stream.published, parts())


class StepWriter:
    """Passes steps on by a pipe, a line each, without ever waiting for its reader."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, NON_BLOCKING)
        self._descriptor = descriptor
        self._text = ""
        self._next = 0.0

    def __call__(self, step: Step) -> None:
        """Pass a step on, unless another of the same work was passed on just now."""
        now = time.monotonic()
        if step.text == self._text and now < self._next:
            return
        self._text, self._next = step.text, now + PASSED_SECONDS
        # Whole or not at all: a line is shorter than what a pipe takes at once.
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(self._descriptor, step.to_text().encode() + b"\n")


class StepReader:
    """Reads what a `StepWriter` of another process writes."""

    def __init__(self) -> None:
        self._descriptor, self.writing_end = os.pipe()
        os.set_blocking(self._descriptor, NON_BLOCKING)
        self._rest = b""

    def close_writing_end(self) -> None:
        """Leave the end to write to with the other process."""
        os.close(self.writing_end)

    def newest(self) -> Step | None:
        """Return the last step that was written since the last call, if any was."""
        with suppress(BlockingIOError):
            while data := os.read(self._descriptor, PIPE_BYTES):
                self._rest += data
        *lines, self._rest = self._rest.split(b"\n")
        return Step(**json.loads(lines[-1])) if lines else None

    def close(self) -> None:
        """Close the end to read from."""
        os.close(self._descriptor)
