"""A job in a process of its own, which can be ended while compiled code computes.

The worker starts ``python -m hushpoll_server.jobs.apart`` and writes the job as one line of JSON to
its standard input. It reads the result from its standard output: a line of JSON about the file,
then the file. The process ends when its input is closed, which the worker's death does as well.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from tempfile import TemporaryFile
from typing import IO, Any, Final

from hushpoll_protocols.errors import HushpollError, MissingExtra
from hushpoll_server import logs
from hushpoll_server.config.settings import SETTINGS, Settings
from hushpoll_server.errors import Refused
from hushpoll_server.jobs.kinds import KINDS
from hushpoll_server.jobs.memory import is_out_of_memory
from hushpoll_server.jobs.memory import refusal as memory_refusal
from hushpoll_server.jobs.progress import SECONDS, Step, StepReader, StepWriter
from hushpoll_server.jobs.result import Result
from hushpoll_server.services.services import Services
from hushpoll_server.store.jobs import JobRow
from hushpoll_shared.spelling.clock import FixedClock, format_timestamp

log = logs.get_logger(__name__)

POOL_SIZE: Final = 2
BLOCK_BYTES: Final = 2**20
STDIN: Final = 0
LOOK_SECONDS: Final = 0.5
INTERNAL: Final = "internal"


class JobCancelled(Exception):
    """The job is not this worker's any more: it was cancelled, deleted, or taken over."""


class JobWatch:
    """Asks, at most twice a second, whether a job may go on; writes once a second how far it is.

    `held` and `write`, which writes the last step, return whether the job is still this worker's.
    One attempt may take `seconds`, from now on.
    """

    def __init__(
        self, held: Callable[[], bool], write: Callable[[Step], bool], *, seconds: float
    ) -> None:
        self._held = held
        self._write = write
        self._seconds = seconds
        self._look_at = self._write_at = time.monotonic()
        self._end = self._look_at + seconds
        self._step: Step | None = None

    def say(self, step: Step) -> None:
        """Keep a step, to be written when it is time; raises as :meth:`check`."""
        self._step = step
        self.check()

    def check(self) -> None:
        """Return if the job may go on; else `JobCancelled`, or `Refused` where time is over."""
        now = time.monotonic()
        if now >= self._end:
            raise Refused("job-timed-out", f"it was ended after {self._seconds:g} s")
        step = self._step
        if step is not None and now >= self._write_at:
            self._step, self._write_at = None, now + SECONDS
            self._look_at = now + LOOK_SECONDS
            if not self._write(step):
                raise JobCancelled
        elif now >= self._look_at:
            self._look_at = now + LOOK_SECONDS
            if not self._held():
                raise JobCancelled

    def over(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield blocks, checking before each of them."""
        for block in blocks:
            self.check()
            yield block


def reason_of(error: Exception) -> Refused:
    """Return what an analyst reads about an exception; one that is not ours is logged."""
    if is_out_of_memory(error):
        return memory_refusal()
    match error:
        case Refused():
            return error
        case MissingExtra():
            return Refused("missing-extra", str(error))
        case HushpollError():
            return Refused("invalid-request", str(error))
    log.error("job-raised", error=type(error).__name__, where=logs.where(error))
    # Its message can quote a record.
    return Refused(INTERNAL, "the worker failed; its log has the job's id")


@contextmanager
def run_apart(settings: Settings, job: JobRow, watch: JobWatch) -> Iterator[Result]:
    """Do a job in a process of its own, and give its result; raise the process's reason for none.

    The process has ended when this returns, however it does.
    """
    steps = StepReader()
    order = {
        # The process ends with the job, so no metrics are ever read from it.
        "settings": {name: getattr(settings, name) for name in SETTINGS} | {"metrics_token": None},
        "now": format_timestamp(settings.clock.now()),
        "version_id": job.version_id,
        "kind": job.kind,
        "parameters": json.loads(job.parameters),
        "steps": steps.writing_end,
    }
    with closing(steps), TemporaryFile() as output:
        try:
            process = subprocess.Popen(  # noqa: S603  # this program, with fixed arguments
                [sys.executable, "-P", "-m", __name__],
                stdin=subprocess.PIPE,
                stdout=output,
                pass_fds=(steps.writing_end,),
            )
        finally:
            steps.close_writing_end()
        try:
            if process.stdin is None:
                raise RuntimeError("the process has no standard input")
            with process.stdin as stdin:
                stdin.write(json.dumps(order).encode() + b"\n")
                stdin.flush()
                _wait(process, watch, steps)
        finally:
            process.kill()
            process.wait()
        output.seek(0)
        yield _result(output, process.returncode)


def _wait(process: subprocess.Popen[bytes], watch: JobWatch, steps: StepReader) -> None:
    while True:
        try:
            process.wait(LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            step = steps.newest()
            if step is None:
                watch.check()
            else:
                watch.say(step)
        else:
            return


def _result(output: IO[bytes], code: int) -> Result:
    head = output.readline()
    if code != 0 or not head:
        raise Refused(
            INTERNAL,
            f"its process ended with code {code}; it may need more memory than there is",
        )
    about = json.loads(head)
    if "code" in about:
        raise Refused(about["code"], about["detail"])
    blocks = iter(lambda: output.read(BLOCK_BYTES), b"")
    return Result(about["file_name"], about["media_type"], blocks, about["card"])


def main() -> None:
    """Do one job, as the process that `run_apart` starts."""
    # What a library prints must not get into the result.
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    order = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_the_worker, name="hushpoll-worker-gone", daemon=True).start()
    settings = Settings(**order["settings"]).changed(
        clock=FixedClock(order["now"]), pool_size=POOL_SIZE
    )
    logs.to_stderr(settings.log_level)
    try:
        with output:
            _work(settings, order, output)
    finally:
        sys.stderr.flush()


def _work(settings: Settings, order: Mapping[str, Any], output: IO[bytes]) -> None:
    try:
        parts = Services(settings)
        try:
            row = parts.surveys.by_id(order["version_id"])
            result = KINDS[order["kind"]].done(
                parts, row, order["parameters"], StepWriter(order["steps"])
            )
            blocks = list(result.blocks)
        finally:
            parts.stop()
    except Exception as error:
        reason = reason_of(error)
        about = {"code": reason.code, "detail": reason.detail}
        output.write(json.dumps(about).encode() + b"\n")
        return
    head = {
        "file_name": result.file_name,
        "media_type": result.media_type,
        "card": result.card,
    }
    output.write(json.dumps(head).encode() + b"\n")
    output.writelines(blocks)


def _end_with_the_worker() -> None:
    # Not by sys.stdin, whose lock the interpreter needs when it ends.
    while os.read(STDIN, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
