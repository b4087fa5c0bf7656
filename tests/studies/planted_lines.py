"""One-line faults over the packages, each with the tests that have to see it.

Usage: PYTHONPATH=tests python -m studies.planted_lines [--tree FOLDER] [NUMBER ...]

Each fault is planted by itself in a copy of `--tree` (by default this checkout), and its tests run
there, up to the first failure. It is caught if a test fails. With ``--healthy`` nothing is planted,
and what is printed is whether the tests pass: a fault is caught only by tests that do. The exit
status is 1 if a fault is not caught, or a healthy line's tests fail.

A shortened test proves as much as before if the same faults are caught with the tree before it and
with the tree after it; docs/decisions/packaging-and-tests.md has the two columns as last run.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("protocols", "shared", "client", "server", "tests", "docs")
PACKAGES = ("protocols", "shared", "client", "server", "server/lab")
LEFT = shutil.ignore_patterns("__pycache__", "node_modules", "dist")
# Python 3.11 may not parse sources for a traceback any more after a test of deep nesting.
PYTEST = ("-x", "-q", "--tb=native", "-p", "no:cacheprovider", "-m", "not slow")

ORACLES = "protocols/hushpoll_protocols"
SURVEY = "shared/hushpoll_shared/survey"
WIRE = "shared/hushpoll_shared/wire"
DEVICE = "client/hushpoll_client/device"
DELIVERY = "client/hushpoll_client/delivery"
ANALYSIS = "server/hushpoll_analysis"
SERVER = "server/hushpoll_server"
MATRIX = ("tests/server/test_authorisation_matrix.py", "-k", "tokens.list_tokens")
HOSTILE = "tests/server/test_hostile_clients.py"
KINDS = "tests/server/jobs/test_kinds.py"


@dataclass(frozen=True)
class Fault:
    """A line that becomes another one.

    Attributes
    ----------
    what : str
        What goes wrong, in words.
    file : str
        Relative to the tree.
    old, new : str
        A part of one line, which the file has once, and what stands there instead.
    tests : tuple of str
        Arguments of pytest: the module, and which of its tests.
    """

    what: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def plant(self, tree: Path) -> None:
        """Write the fault into a tree."""
        path = tree / self.file
        path.write_text(path.read_text(encoding="utf-8").replace(self.old, self.new), "utf-8")


FAULTS = (
    Fault(
        "a lie of GRR can be the truth",
        f"{ORACLES}/oracles/grr.py",
        "if other < value else", "if other <= value else",
        ("tests/protocols/test_law.py", "-k", "GRR"),
    ),
    Fault(
        "GRR lies for one word more",
        f"{ORACLES}/oracles/grr.py",
        "if word < others * lie:", "if word <= others * lie:",
        ("tests/protocols/test_boundaries.py",),
    ),
    Fault(
        "the hash leaves out its finaliser",
        f"{ORACLES}/oracles/local_hashing.py",
        "((a * finalise(code) + b", "((a * code + b",
        ("tests/shared/test_vectors.py", "-k", "test_buckets"),
    ),
    Fault(
        "SS keeps the truth too often",
        f"{ORACLES}/oracles/ss.py",
        "Q * omega * e / (omega * e + k - omega)", "Q * omega * e / (omega * e + k - omega - 1)",
        ("tests/protocols/test_thresholds.py",),
    ),
    Fault(
        "q of SS is too small",
        f"{ORACLES}/oracles/ss.py",
        "(1 - self.p) * self.omega) / (self.k - 1)", "(1 - self.p) * self.omega) / self.k",
        ("tests/protocols/test_law.py", "-k", "SS"),
    ),
    Fault(
        "OUE sets too few bits of others, and reveals more than epsilon",
        f"{ORACLES}/oracles/unary.py",
        "lambda e: Q / (e + 1), epsilon)", "lambda e: Q / (e + 2), epsilon)",
        ("tests/protocols/test_thresholds.py",),
    ),
    Fault(
        "the first pad bit may be set",
        f"{ORACLES}/record_forms.py",
        "record[-1] >> used:", "record[-1] >> used + 1:",
        ("tests/protocols/test_bad_input.py",),
    ),
    Fault(
        "a subset may be too small",
        f"{ORACLES}/record_forms.py",
        "if count != self.omega:", "if count > self.omega:",
        ("tests/protocols/test_bad_input.py",),
    ),
    Fault(
        "a code may be one too large",
        f"{ORACLES}/record_forms.py",
        "if code >= self.below:", "if code > self.below:",
        ("tests/protocols/test_bad_input.py",),
    ),
    Fault(
        "the realized epsilon is rounded to the nearest",
        f"{ORACLES}/thresholds.py",
        "own_context(80, ROUND_CEILING)", "own_context(80, ROUND_HALF_EVEN)",
        ("tests/protocols/test_thresholds.py",),
    ),
    Fault(
        "epsilon may be 65",
        f"{ORACLES}/epsilon.py",
        "EPSILON_MAX = Decimal(64)", "EPSILON_MAX = Decimal(65)",
        ("tests/protocols/test_bad_input.py",),
    ),
    Fault(
        "a uniform index is rejected one word too late",
        f"{ORACLES}/bits.py",
        "or word >= limit:", "or word > limit:",
        ("tests/protocols/test_boundaries.py",),
    ),
    Fault(
        "projected shares sum to two",
        f"{ORACLES}/estimation/projection.py",
        "(np.cumsum(descending) - 1) / ranks", "(np.cumsum(descending) - 2) / ranks",
        ("tests/protocols/estimation/test_projection.py",),
    ),
    Fault(
        "score intervals are a tenth too narrow",
        f"{ORACLES}/estimation/score.py",
        "half = quantile * np.sqrt", "half = 0.9 * quantile * np.sqrt",
        ("tests/protocols/estimation/test_score.py",),
    ),
    Fault(
        "a report's base64 may have stray bits",
        "shared/hushpoll_shared/spelling/base64url.py",
        'not left or letters[-1] in _LAST.get(left, b"")', "left != 1",
        ("tests/shared/wire/test_reports.py",),
    ),
    Fault(
        "keys of canonical JSON are in the order of code points",
        "shared/hushpoll_shared/spelling/canonical.py",
        "sorted(value, key=_utf16)", "sorted(value)",
        ("tests/shared/spelling/test_canonical.py",),
    ),
    Fault(
        "a batch of another version is read",
        f"{WIRE}/reports.py",
        "if body[4] != REPORTS_VERSION:", "if body[4] < REPORTS_VERSION:",
        ("tests/shared/wire/test_reports.py",),
    ),
    Fault(
        "a digest may be longer",
        f"{WIRE}/reports.py",
        "not _DIGEST.fullmatch(value)", "not _DIGEST.match(value)",
        ("tests/shared/wire/test_reports.py",),
    ),
    Fault(
        "batches may mix records of two sizes",
        f"{WIRE}/reports.py",
        "if len({len(row) for row in rows}) > 1:", "if len({len(row) for row in rows}) > 2:",
        ("tests/shared/wire/test_reports.py",),
    ),
    Fault(
        "a survey may spend twice its epsilon",
        f"{SURVEY}/published.py",
        "if spent > Fraction(self.epsilon):", "if spent > 2 * Fraction(self.epsilon):",
        ("tests/shared/survey/test_published.py",),
    ),
    Fault(
        "a published form that is not the one that follows from it is taken",
        f"{SURVEY}/published.py",
        "if spelling != published.canonical:", "if not spelling:",
        ("tests/shared/test_vectors.py", "-k", "published_manifests"),
    ),
    Fault(
        "epsilons of a split are rounded up",
        f"{SURVEY}/randomization/budget.py",
        "Fraction(epsilon) * share * 10**PLACES // 1",
        "-(-Fraction(epsilon) * share * 10**PLACES // 1)",
        ("tests/shared/survey/randomization/test_budget.py",),
    ),
    Fault(
        "base64 of a length that no bytes have is read",
        "shared/hushpoll_shared/spelling/base64url.py",
        'letters[-1] in _LAST.get(left, b"")', "letters[-1] in _LAST.get(left, letters)",
        ("tests/shared/test_vectors.py", "-k", "base64url"),
    ),
    Fault(
        "the ledger adds up only the largest charge",
        f"{DEVICE}/ledger.py",
        "SELECT coalesce(sum(picoepsilon), 0)", "SELECT coalesce(max(picoepsilon), 0)",
        ("tests/client/device/test_ledger.py",),
    ),
    Fault(
        "what was spent before does not count against a limit",
        f"{DEVICE}/ledger.py",
        "if Fraction(spent) + Fraction(published.epsilon) > limit:",
        "if Fraction(published.epsilon) > limit:",
        ("tests/client/device/test_ledger.py",),
    ),
    Fault(
        "an outbox holds one report too many",
        f"{DEVICE}/ledger.py",
        "if waiting >= place.outbox_limit:", "if waiting > place.outbox_limit:",
        ("tests/client/device/test_outbox.py",),
    ),
    Fault(
        "a refused report counts as accepted",
        f"{DEVICE}/outbox.py",
        '"accepted" if refused is None else "refused"', '"accepted" if refused else "accepted"',
        ("tests/client/device/test_outbox.py",),
    ),
    Fault(
        "one attempt too many",
        f"{DELIVERY}/timing.py",
        "if attempt >= config.attempts or", "if attempt > config.attempts or",
        ("tests/client/delivery/test_timing.py", "-k", "attempts_are_limited"),
    ),
    Fault(
        "a server that asks for a longer wait gets the shorter one",
        f"{DELIVERY}/timing.py",
        "wait = max(pacing.delay(", "wait = min(pacing.delay(",
        ("tests/client/delivery/test_timing.py",),
    ),
    Fault(
        "what is refused for good is sent again",
        f"{DELIVERY}/timing.py",
        "if not error.retryable:", "if error is None:",
        ("tests/client/delivery/test_timing.py",),
    ),
    Fault(
        "weights of a row take q once, whatever the size of the set",
        f"{ANALYSIS}/estimates/weight_law.py",
        "(supported - size * q) / gap", "(supported - q) / gap",
        ("tests/analysis/poisoning/test_audits.py",),
    ),
    Fault(
        "limits of a difference are taken from the wrong sides",
        f"{ANALYSIS}/metrics.py",
        "return gap - below, gap + above", "return gap - above, gap + below",
        ("tests/analysis/metrics/test_intervals.py",),
    ),
    Fault(
        "sizes of strata are weighed against the largest of them",
        f"{ANALYSIS}/survey_design/design.py",
        "sizes / total)", "sizes / sizes.max())",
        ("tests/analysis/survey_design/test_weighted_shares.py",),
    ),
    Fault(
        "a revoked token is good",
        f"{SERVER}/services/surveys/access.py",
        "        if row.revoked:", "        if row is None:",
        MATRIX,
    ),
    Fault(
        "who may train may do all",
        f"{SERVER}/services/surveys/access.py",
        'in self.scopes or "admin" in self.scopes', 'in self.scopes or "train" in self.scopes',
        MATRIX,
    ),
    Fault(
        "a header that two programs read differently may come twice",
        f"{SERVER}/ingest/requests.py",
        "if name in seen and name in _ONCE:", "if name in seen and name not in _ONCE:",
        (HOSTILE, "-k", "stands_twice"),
    ),
    Fault(
        "a head may have ten times the headers",
        f"{SERVER}/ingest/requests.py",
        "len(headers) > MOST_HEADERS or size", "len(headers) > 10 * MOST_HEADERS or size",
        (HOSTILE, "-k", "too and headers"),
    ),
    Fault(
        "a survey takes reports before it opens",
        f"{SERVER}/services/reports.py",
        "if self.surveys.state(row) is State.SCHEDULED and", "if row is None and",
        (HOSTILE, "-k", "before"),
    ),
    Fault(
        "a job's process leaves out the refusal's reason",
        f"{SERVER}/jobs/apart.py",
        'if "code" in about:', 'if "codes" in about:',
        ("tests/server/jobs/test_runner.py", "-k", "worker_without_the_extra"),
    ),
    Fault(
        "a reader's regression has groups that are not shown to readers",
        f"{SERVER}/jobs/kinds.py",
        "may_export=not for_readers)", "may_export=True)",
        ("tests/server/dashboard/test_small_groups.py", "-k", "keeps_to_groups_that_are_shown"),
    ),
)  # fmt: skip


@contextmanager
def copy_of(tree: Path) -> Iterator[Path]:
    """A copy of what tests of a tree read, beside the same data."""
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        scratch = Path(folder, "tree")
        scratch.mkdir()
        for name in COPIED:
            shutil.copytree(tree / name, scratch / name, ignore=LEFT, symlinks=True)
        for path in tree.iterdir():
            if path.is_file():
                shutil.copy(path, scratch)
        yield scratch


def run(tree: Path, tests: Sequence[str]) -> tuple[int, str]:
    """Run tests of a tree with its own packages; return pytest's status and its last line."""
    packages = os.pathsep.join(str(tree / name) for name in PACKAGES)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *PYTEST, *tests],
        cwd=tree, env=os.environ | {"PYTHONPATH": packages, "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    lines = done.stdout.strip().splitlines()
    failed = [line.removeprefix("FAILED ") for line in lines if line.startswith("FAILED")]
    return done.returncode, (failed or lines or [""])[-1].partition(" - ")[0]


def seconds() -> float:
    """Processor time of all children that have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path, default=ROOT)
    parser.add_argument("--healthy", action="store_true")
    parser.add_argument("numbers", type=int, nargs="*")
    options = parser.parse_args(arguments)
    wrong = 0
    with copy_of(options.tree.resolve()) as scratch:
        for number, fault in enumerate(FAULTS, 1):
            if options.numbers and number not in options.numbers:
                continue
            path = scratch / fault.file
            usual, before = path.read_text(encoding="utf-8"), seconds()
            if not options.healthy:
                fault.plant(scratch)
            status, said = run(scratch, fault.tests)
            path.write_text(usual, encoding="utf-8")
            wanted, unwanted = ("passed", "FAILED") if options.healthy else ("caught", "NOT CAUGHT")
            good = status == (0 if options.healthy else 1)
            wrong += not good
            print(f"| {number} | {fault.what} | `{fault.file}` | {wanted if good else unwanted} |"
                  f" `{said}` | {seconds() - before:.1f} |", flush=True)  # fmt: skip
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
