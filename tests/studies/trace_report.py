"""Lists the modules of ours whose functions run on the way of one report to the fairness table.

A server and a worker run as processes, as a user starts them. A device then answers one survey over
HTTP, the report is sealed, and an analyst asks for the fairness of the sealed records. A profile
function in every process notes each module whose functions run from the moment at which the device
begins. What runs before (imports, the start of the server, publishing, the other respondents'
reports) is not counted, nor what only the clock calls.

Prints the modules by package, and for each the processes in which they ran::

    PYTHONPATH=tests python -m studies.trace_report [--storage] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final, TextIO

FOLDER: Final = "TRACE_REPORT_FOLDER"
SWITCH: Final = "switch"
PACKAGES: Final = (
    "hushpoll_protocols",
    "hushpoll_shared",
    "hushpoll_client",
    "hushpoll_analysis",
    "hushpoll_training",
    "hushpoll_server",
)
RESPONDENTS: Final = 60
CODE_OF_FUNCTION: Final = 1  # CO_OPTIMIZED: bodies of modules and classes do not have it
# Python imports a module of this name in every process that it starts.
SITE: Final = """import sys
sys.path.insert(0, {tests!r})
from studies.trace_report import begin
begin()
"""

DRAFT: Final[dict[str, Any]] = {
    "name": "work",
    "version": 1,
    "title": "Work",
    "epsilon": "4",
    "protocol": "GRR",
    "minimum_batch": RESPONDENTS + 1,
    "release": "immediate",
    "attributes": [
        {"name": "gender", "role": "sensitive", "categories": ["Female", "Male"]},
        {"name": "age", "role": "sensitive", "protocol": "OUE", "range": [1, 5]},
        {"name": "education", "role": "plain", "categories": ["low", "high"]},
        {"name": "income", "role": "target", "categories": ["poor", "rich"], "positive": "rich"},
    ],
    "protected": {"attribute": "gender", "unprivileged": "Female", "privileged": "Male"},
}


def begin() -> None:
    """Trace this process and all its threads, if the switch says so."""
    import mmap
    import threading

    folder = Path(os.environ[FOLDER])
    with (folder / SWITCH).open("r+b") as file:
        switch = mmap.mmap(file.fileno(), 1)
    noted: set[str] = set()
    # by process: a forked child goes on with this function, and its parent's file is closed there
    notes: dict[int, TextIO] = {os.getpid(): _begin_notes(folder)}

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event != "call" or not switch[0] or not frame.f_code.co_flags & CODE_OF_FUNCTION:
            return
        module = frame.f_globals.get("__name__") or ""
        if module == "__main__" and (spec := frame.f_globals.get("__spec__")) is not None:
            module = spec.name
        if not module.startswith(PACKAGES) or _starting(frame):
            return
        if os.getpid() not in notes:
            noted.clear()
            notes[os.getpid()] = _begin_notes(folder)
        if module not in noted:
            noted.add(module)
            notes[os.getpid()].write(module + "\n")

    threading.setprofile(note)
    sys.setprofile(note)


def _begin_notes(folder: Path) -> TextIO:
    command = Path("/proc/self/cmdline").read_text().replace("\0", " ")
    process = re.search(r"hushpoll_server\.(?!cli\.serve)[a-z._]+|(?<=play\(')[a-z]+", command)
    child = re.fullmatch(r"hushpoll-([a-z]+)", Path("/proc/self/comm").read_text().strip())
    name = process[0] if process else "serve"
    notes = (folder / f"{os.getpid()}").open("a", buffering=1)
    notes.write((f"hushpoll_server.processes.{child[1]}" if child else name) + "\n")
    return notes


def _starting(frame: FrameType | None) -> bool:
    """Return whether a function runs because a module is imported or a process puts parts together.

    The process of a job starts on the report's way, and all others before. A web process may still
    be loading compiled code when the device begins.
    """
    while frame is not None:
        module, code = frame.f_globals.get("__name__"), frame.f_code
        if code.co_name == "<module>" and module != "__main__":
            return True
        if code.co_name == "__init__" and module == "hushpoll_server.services.services":
            return True
        if code.co_name == "prepare" and module == "hushpoll_server.services.results.analysis":
            return True
        frame = frame.f_back
    return False


@contextmanager
def traced_processes(folder: Path) -> Iterator[Callable[[bool], None]]:
    """Have every Python process that is started in here trace itself; yield the switch."""
    import mmap

    (folder / SWITCH).write_bytes(b"\0")
    (folder / "sitecustomize.py").write_text(SITE.format(tests=str(Path(__file__).parents[1])))
    before = os.environ.get("PYTHONPATH")
    os.environ[FOLDER] = str(folder)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), *([before] if before else [])])
    with (folder / SWITCH).open("r+b") as file, mmap.mmap(file.fileno(), 1) as switch:

        def turn(on: bool) -> None:
            switch[0] = int(on)

        try:
            yield turn
        finally:
            turn(False)
            del os.environ[FOLDER]
            os.environ.pop("PYTHONPATH")
            if before is not None:
                os.environ["PYTHONPATH"] = before


def trace(folder: Path, *, storage: bool = False) -> dict[str, list[str]]:
    """Send one report, ask for the fairness table, and return the modules that ran by process.

    Parameters
    ----------
    folder : Path
        An empty folder, in which the server and the device keep their files.
    storage : bool
        Whether the device keeps consent, ledger and outbox in a file.
    """
    import subprocess

    from hushpoll_client.analyst.analyst_client import AnalystClient
    from hushpoll_fleet.demo.processes import Server
    from hushpoll_shared.drafts.manifest import Manifest

    notes = folder / "notes"
    notes.mkdir()
    stored = [str(folder / "device.sqlite")] if storage else []
    options = ("--seal-at", str(RESPONDENTS + 1), "--seal-idle-seconds", "1")
    with traced_processes(notes) as turn, Server(folder, options=options) as server:
        url = f"sqlite:///{folder}/hushpoll.sqlite"
        program = "from hushpoll_server.cli.worker import worker; worker()"
        worker = subprocess.Popen(
            [sys.executable, "-c", program, "--database-url", url], stdout=subprocess.PIPE
        )
        assert worker.stdout is not None
        try:
            assert worker.stdout.readline() == b"taking jobs\n"
            with AnalystClient(server.url, server.token) as analyst:
                analyst.publish(DRAFT, allow_weak=True)
                survey = Manifest.from_dict(DRAFT).resolve()
                analyst.submit_bulk(survey.name, _others(survey))
                turn(True)
                _run("device", server.url, survey.digest, *stored)
                _wait(lambda: analyst.counts(survey.name, 1)["sealed"] > RESPONDENTS)
                _run("analyst", server.url, server.token)
                turn(False)
        finally:
            worker.terminate()
            worker.wait()
            worker.stdout.close()
    ran: dict[str, list[str]] = {}
    for path in notes.iterdir():
        if path.name.isdigit():
            process, *modules = path.read_text().splitlines()
            for module in modules:
                ran.setdefault(module, []).append(process)
    return {module: sorted(set(processes)) for module, processes in sorted(ran.items())}


def _others(survey: Any) -> bytes:
    """Return the reports of the other respondents."""
    from hushpoll_client import randomize
    from hushpoll_shared.wire.reports import Report, new_report_id, pack_reports

    answers = (_answers(number) for number in range(RESPONDENTS))
    records = [randomize(survey, each).record for each in answers]
    return pack_reports(survey.digest, [Report(new_report_id(), record) for record in records])


def _answers(number: int) -> dict[str, str]:
    return {
        "gender": ("Female", "Male")[number % 2],
        "age": str(1 + number % 5),
        "education": ("low", "high")[number % 3 == 0],
        "income": ("poor", "rich")[number % 4 < 2],
    }


def _run(role: str, *arguments: str) -> None:
    import subprocess

    program = f"from studies.trace_report import play; play({role!r}, {arguments!r})"
    subprocess.run([sys.executable, "-c", program], check=True)


def play(role: str, arguments: Sequence[str]) -> None:
    """Be the device or the analyst, in a process of its own."""
    {"device": _answer, "analyst": _ask}[role](*arguments)


def _answer(url: str, digest: str, storage: str = "") -> None:
    """Answer as a host application does; with a file of the device by consent and its outbox."""
    from hushpoll_client import SurveyClient

    with SurveyClient(url, "work", digest=digest, storage=storage or None) as client:
        if storage:
            client.fetch(wait=300)
            client.give_consent()
            assert client.answer(_answers(0)).status == "kept"
            assert client.flush()
        else:
            client.submit(_answers(0), wait=300)


def _ask(url: str, token: str) -> None:
    """Ask for the fairness table, which a worker computes."""
    from hushpoll_client.analyst.analyst_client import AnalystClient

    with AnalystClient(url, token) as analyst:
        table = analyst.fairness("work", 1, folds=2, parameters={"n_estimators": 2})
    assert table["n"] == RESPONDENTS + 1


def _wait(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + 600
    while not reached():
        if time.monotonic() > end:
            raise TimeoutError("the report was not sealed within ten minutes")
        time.sleep(0.2)


def main() -> None:
    """Print the modules."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="Print the modules by process as JSON.")
    parser.add_argument("--storage", action="store_true", help="Keep a file on the device.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ran = trace(Path(folder), storage=options.storage)
    if options.json:
        print(json.dumps(ran, indent=1))
        return
    for package in PACKAGES:
        modules = [module for module in ran if module.partition(".")[0] == package]
        print(f"{package}: {len(modules)}")
        for module in modules:
            print(f"  {module.removeprefix(package + '.'):45} {', '.join(ran[module])}")


if __name__ == "__main__":
    main()
