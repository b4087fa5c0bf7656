"""What the device pays: importing the SDK, and randomising one respondent's record."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.adult import load_codes, resolve
from benchmarks.harness import Figure, against, announced
from hushpoll_protocols import PROTOCOLS, SecureBits

IMPORT_LIMIT_MS = 60.0
# The package loads its names when they are used, so its own import is not what an app pays. All
# that an app uses is held to 80 ms, of which the standard library's modules alone take about 40.
WHOLE_IMPORT_GOAL = 0.75
RECORD_LIMIT_US = 60.0
HEAVY = ("numpy", "numba", "flask", "pydantic", "pandas", "requests", "click", "yaml")


def importing() -> list[Figure]:
    """The bare import, and the import of all that a survey app uses, over a bare interpreter."""
    return [
        _import_cost("import hushpoll_client", 1),
        _import_cost("from hushpoll_client import SurveyClient, randomize", WHOLE_IMPORT_GOAL),
    ]


def _import_cost(statement: str, goal: float) -> Figure:
    probe = (
        f"import sys; {statement}; "
        f"loaded = [m for m in {HEAVY!r} if m in sys.modules]; assert not loaded, loaded"
    )
    with announced(statement):
        subprocess.run([sys.executable, "-c", probe], check=True)  # byte code is on disk by now

        def cost(code: str) -> float:
            # Processor time: importing waits for nothing, and other processes do not inflate it.
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-c", code], check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1e3

        pairs = [(cost(statement), cost("pass")) for _ in range(21)]
    return against(
        f"{statement}, over a bare interpreter",
        unit="ms",
        ours=statistics.median(ours - bare for ours, bare in pairs),
        peer=IMPORT_LIMIT_MS,
        peer_name="limit",
        goal=goal,
        repeats=len(pairs),
    )


def randomising(data: Path) -> list[Figure]:
    """One Adult record, secure randomness: the median, and its mean over the protocols."""
    codes = load_codes(data / "adult_26k.csv")
    answers = [
        {name: int(v) for name, v in row.items()} for row in codes.head(2000).to_dict("records")
    ]
    medians = []
    for protocol in PROTOCOLS:
        with announced(f"randomise one Adult record, {protocol}"):
            layout = resolve(codes, protocol=protocol, split="k-based").layout
            bits, times = SecureBits(), []
            for answer in answers:
                start = time.perf_counter_ns()
                layout.encode(answer, bits)
                times.append((time.perf_counter_ns() - start) / 1e3)
        medians.append(statistics.median(times))
        print(f"  {protocol}: {medians[-1]:.1f} µs")
    return [
        against(
            "randomise and encode one Adult record, mean of 7 protocols' medians",
            unit="µs",
            ours=statistics.mean(medians),
            peer=RECORD_LIMIT_US,
            peer_name="limit",
            goal=1,
            repeats=len(answers),
        )
    ]
