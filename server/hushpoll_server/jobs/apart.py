"""A job in a process of its own, which can be ended while compiled code computes.

The worker starts ``python -m hushpoll_server.jobs.apart``, writes what is to be done as one line of
JSON to its standard input, and reads the result from its standard output: a line of JSON about the
file, then the file. The process ends when that input is closed, which it is by the worker's death
as well.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import IO, Any, Final

from hushpoll_protocols.errors import HushpollError, MissingExtra
from hushpoll_server import logs
from hushpoll_server.config.settings import SETTINGS, Settings
from hushpoll_server.errors import Refused
from hushpoll_server.jobs.kinds import KINDS, Result
from hushpoll_server.jobs.watch import LOOK_SECONDS, JobWatch
from hushpoll_server.services.services import Services
from hushpoll_server.store.tables.jobs import JobRow
from hushpoll_shared.spelling.clock import FixedClock, format_timestamp
from hushpoll_shared.wire.problems import PROBLEMS

log = logs.get_logger(__name__)

POOL_SIZE: Final = 2
BLOCK_BYTES: Final = 2**20
STDIN: Final = 0
INTERNAL: Final = "internal"


class JobError(HushpollError):
    """Why a job has no result: a code, and words that an analyst may read."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


def told(error: Exception) -> JobError:
    """Return what an analyst is told of an exception; the log is told of one that is not ours."""
    match error:
        case JobError():
            return error
        case Refused():
            return JobError(error.code, error.detail)
        case MissingExtra():
            return JobError("missing-extra", str(error))
        case HushpollError():
            return JobError("invalid-request", str(error))
    log.error("job-raised", error=type(error).__name__, where=logs.where(error))
    # Its message can quote a record.
    return JobError(INTERNAL, "the worker failed; its log has the job's id")


@contextmanager
def run_apart(settings: Settings, job: JobRow, watch: JobWatch) -> Iterator[Result]:
    """Do a job in a process of its own, and give its result.

    The process has ended when this returns, however it does.

    Raises
    ------
    JobCancelled, Refused
        As ``JobWatch.check``.
    JobError
        The process says why there is no result, or was ended.
    """
    order = {
        # Nothing of it goes on after the job, so it has nothing to measure.
        "settings": {name: getattr(settings, name) for name in SETTINGS} | {"metrics_token": None},
        "now": format_timestamp(settings.clock.now()),
        "version_id": job.version_id,
        "kind": job.kind,
        "parameters": json.loads(job.parameters),
    }
    with TemporaryFile() as output:
        process = subprocess.Popen(  # noqa: S603  # this program, with fixed arguments
            [sys.executable, "-P", "-m", __name__], stdin=subprocess.PIPE, stdout=output
        )
        try:
            if process.stdin is None:
                raise RuntimeError("the process has no standard input")
            with process.stdin as orders:
                orders.write(json.dumps(order).encode() + b"\n")
                orders.flush()
                _wait(process, watch)
        finally:
            process.kill()
            process.wait()
        output.seek(0)
        yield _result(output, process.returncode)


def _wait(process: subprocess.Popen[bytes], watch: JobWatch) -> None:
    while True:
        try:
            process.wait(LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            watch.check()
        else:
            return


def _result(output: IO[bytes], code: int) -> Result:
    head = output.readline()
    if code != 0 or not head:
        raise JobError(
            INTERNAL,
            f"its process ended with code {code}; it may need more memory than there is",
        )
    found = json.loads(head)
    if "code" in found:
        raise JobError(found["code"], found["detail"])
    blocks = iter(lambda: output.read(BLOCK_BYTES), b"")
    return Result(found["file_name"], found["media_type"], blocks)


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
            result = KINDS[order["kind"]].work(parts, row, order["parameters"])
            blocks = list(result.blocks)
        finally:
            parts.stop()
    except Exception as error:
        why = told(error)
        code = why.code if why.code in PROBLEMS else INTERNAL
        output.write(json.dumps({"code": code, "detail": why.detail}).encode() + b"\n")
        return
    head = {"file_name": result.file_name, "media_type": result.media_type}
    output.write(json.dumps(head).encode() + b"\n")
    output.writelines(blocks)


def _end_with_the_worker() -> None:
    # Not by sys.stdin, whose lock the interpreter needs when it ends.
    while os.read(STDIN, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
