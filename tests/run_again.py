"""Runs tests, and at most three failures once more, alone: chance must neither lose a run nor hide.

Usage: python tests/run_again.py OPTIONS -- MORE
       python tests/run_again.py node FILES

The first runs pytest; OPTIONS are of both runs, MORE (folders, processes) of the first. The second
runs ``node --test``, and a whole file once more. What passes the second time is printed under
"passed only when run again", with its line for ``tests/passed_when_run_again.txt``. More failures,
one that fails again, and what else goes wrong stay what they were: a module that cannot be
collected, a process that dies, a run that stops early, a fault of pytest.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

MOST = 3
"""Failures that are run again; more are no chance."""

LIST = Path(__file__).with_name("passed_when_run_again.txt")
TITLE = "passed only when run again"
NOTES = "RUN_AGAIN_NOTES"
"""Variable with the file in which all steps of a run note their lines."""
REPORTER = Path(__file__).parent / "client_js" / "failed_files.js"


@dataclass
class Record:
    """What one run of pytest did; `broken` is what no test is to blame for."""

    status: int | None = None
    passed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    @property
    def worth_another(self) -> bool:
        """Whether there are few failures, and nothing else went wrong."""
        return self.status == 1 and not self.broken and 1 <= len(self.failed) <= MOST

    def repairs(self, first: Record) -> bool:
        """Whether each test that failed first has passed now; a skipped one has not."""
        return self.status == 0 and not self.broken and set(self.passed) == set(first.failed)


class Recorder:
    """A plugin that writes the record of its run, and shows what passed only when run again."""

    def __init__(self, file: Path, *, again: bool) -> None:
        self._file = file
        self._again = again
        self._record = Record()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when not in ("setup", "call", "teardown"):
            self._record.broken.append(f"the process of {report.nodeid} died")
        elif report.failed and report.nodeid not in self._record.failed:
            self._record.failed.append(report.nodeid)
        elif report.passed and report.when == "call":
            self._record.passed.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._record.broken.append(f"{report.nodeid} cannot be collected")

    def pytest_internalerror(self) -> None:
        self._record.broken.append("pytest itself failed")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        self._record.status = int(exitstatus)
        if session.shouldfail or session.shouldstop:
            self._record.broken.append("the run stopped early")
        self._file.write_text(json.dumps(asdict(self._record)), encoding="utf-8")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._again and self._record.status == 0:
            note(self._record.passed)
        if lines := noted():
            terminalreporter.section(TITLE)
            for line in lines:
                terminalreporter.line(line)


def note(names: Sequence[str]) -> None:
    """Note tests, or files of tests, that passed only when run again."""
    with Path(os.environ[NOTES]).open("a", encoding="utf-8") as file:
        file.writelines(f"{datetime.now(UTC):%Y-%m-%d} {name}\n" for name in names)


def noted() -> list[str]:
    """Return what the steps of this run have noted, and what to do with it."""
    lines = Path(os.environ[NOTES]).read_text(encoding="utf-8").splitlines()
    to_do = f"Add to tests/{LIST.name} those that it does not have; the next landing repairs them."
    return [*lines, to_do] if lines else []


def once(options: Sequence[str], *, again: bool = False) -> Record:
    """Run pytest in a process of its own, and return its record."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "record.json")
        mode = "--again" if again else "--first"
        command = [sys.executable, __file__, mode, str(file), *options]
        code = subprocess.run(command, check=False).returncode
        written = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    record = Record(**written)
    if record.status != code:
        record.broken.append(f"pytest ended with {code}")
    record.status = code
    return record


def tests(both: Sequence[str], more: Sequence[str]) -> int:
    """Run pytest, and its failures again if they are few; return the exit status."""
    first = once([*both, *more])
    if not first.worth_another:
        return first.status or int(bool(first.broken))
    print(
        f"\n{len(first.failed)} failed, {len(first.passed)} passed; the failures once more, alone:",
        flush=True,
    )
    second = once([*both, *first.failed], again=True)
    if second.repairs(first):
        return 0
    left = sorted({*first.failed} - {*second.passed}) or second.broken or second.failed
    print(f"not passed when run again: {', '.join(left)}")
    return 1


def failed_files(files: Sequence[str]) -> tuple[int, list[str]]:
    """Run files by ``node --test``; return its exit status, and the files that failed."""
    with tempfile.TemporaryDirectory() as folder:
        into = Path(folder, "failed")
        reporters = {"spec": "stdout", REPORTER.as_uri(): str(into)}
        options = [
            option
            for reporter, place in reporters.items()
            for option in (f"--test-reporter={reporter}", f"--test-reporter-destination={place}")
        ]
        code = subprocess.run(["node", "--test", *options, *files], check=False).returncode
        names = into.read_text(encoding="utf-8").splitlines() if into.exists() else []
    return code, sorted({os.path.relpath(name) for name in names})


def node(files: Sequence[str]) -> int:
    """Run files by node, and those that failed again if they are few; return the exit status."""
    code, failed = failed_files(files)
    if code != 1 or not 1 <= len(failed) <= MOST:
        return code
    print(f"\nfailed in {', '.join(failed)}; once more, alone:", flush=True)
    code, _ = failed_files(failed)
    if code == 0:
        note(failed)
        print(f"\n{TITLE}:", *noted(), sep="\n")
    return code


def main(arguments: Sequence[str]) -> int:
    match arguments:
        case ["--first" | "--again" as mode, file, *options]:
            return int(
                pytest.main(options, plugins=[Recorder(Path(file), again=mode == "--again")])
            )
        case ["node", *files]:
            return node(files)
        case [*options]:
            place = options.index("--")
            return tests(options[:place], options[place + 1 :])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as notes:
        Path(os.environ.setdefault(NOTES, str(Path(notes, "notes")))).touch()
        status = main(sys.argv[1:])
    sys.exit(status)
