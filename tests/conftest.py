"""Fixtures of the whole suite: where the real data is, and what happens where it is not."""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from hushpoll_fleet.demo.processes import Server
from longest_modules import LONGEST_MODULES
from waiting import LONGEST_SECONDS

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("HUSHPOLL_DATA", ROOT.parent / "shared" / "data"))
DATA_SKIP = "REAL DATA MISSING"


# A suite that a shell started in the background ignores Ctrl-C, and so would the programs that it
# starts to interrupt them.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# A user waits a minute for the start of a server; a busy machine may have something else to do.
assert Server.__init__.__kwdefaults__ is not None
Server.__init__.__kwdefaults__["seconds"] = LONGEST_SECONDS


# How long an example takes says how busy the machine is.
settings.register_profile("unhurried", parent=settings.default, deadline=None)
# What chance finds now and then must not depend on the day: scripts/test-slow looks for it.
settings.register_profile("repeatable", parent=settings.get_profile("unhurried"), derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def data_is_required() -> bool:
    """CI must never turn green because the real data was not there."""
    return os.environ.get("CI", "").lower() in {"1", "true"}


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the real data sets (HUSHPOLL_DATA, by default ../shared/data)."""
    if not (DATA / "adult_26k.csv").is_file():
        message = (
            f"{DATA_SKIP}: no adult_26k.csv in {DATA}; set HUSHPOLL_DATA to the folder that has it"
        )
        if data_is_required():
            pytest.fail(message)
        pytest.skip(message)
    return DATA


@pytest.fixture(scope="session")
def root() -> Path:
    """Folder of the repository."""
    return ROOT


# Nothing that is collected goes away, so passes of the garbage collector meanwhile are for nothing.
gc.disable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the modules that take longest first; all others stay in their order."""
    places = {ROOT / "tests" / f"{name}.py": place for place, name in enumerate(LONGEST_MODULES)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


def pytest_collection_finish() -> None:
    """Take all modules out of the passes of the garbage collector, which begin here."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count the tests that did not run for want of data, where nobody can overlook it."""
    missing = [
        report
        for report in terminalreporter.stats.get("skipped", [])
        if DATA_SKIP in str(report.longrepr)
    ]
    if missing:
        terminalreporter.section("real data missing", sep="!", red=True, bold=True)
        terminalreporter.line(
            f"{len(missing)} tests on real data DID NOT RUN: nothing found in {DATA}. "
            "Set HUSHPOLL_DATA and run again."
        )
