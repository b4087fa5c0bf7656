"""Take the protocol PAIRS through everything that hushpoll does with a protocol.

`test_adding.py` runs it in an interpreter whose hushpoll_protocols has PAIRS in its registry. It
ends with an error at the first step that asks for more than the protocol's three files.
"""

from __future__ import annotations

import json
import math
import sys
from itertools import combinations
from pathlib import Path

import conformance
import numpy as np

from hushpoll_analysis.estimates.influence import influence
from hushpoll_client.device.preview import build_preview
from hushpoll_lab.experiments.results.figures import draw
from hushpoll_lab.experiments.results.summaries import Curves, Place, Summary
from hushpoll_protocols import PROTOCOLS, create
from hushpoll_protocols.kernels import indicators, malformed, perturb, support_counts
from hushpoll_training.evaluation.metrics import METRICS
from pinned import entry_points
from pinned.entry_points import hushpoll
from pinned.survey import draft, people, write_people
from vector_builders import records as record_vectors
from vector_builders import thresholds as threshold_vectors

PARAMS = ("--params", "n_estimators=5")


def follow_the_law() -> None:
    for k, epsilon in ((2, "1"), (3, "0.3"), (5, "2"), (9, "1")):
        oracle = create("PAIRS", k=k, epsilon=epsilon)
        conformance.check_law(oracle)
        conformance.check_epsilon(oracle)
        conformance.check_supports(oracle)
        conformance.check_fakes(oracle)
        conformance.check_randomize(oracle, [0, k - 1])
        assert oracle.disclosure().best_guess < 1


def perturb_many() -> None:
    oracle = create("PAIRS", k=12, epsilon="2")
    values = np.full(30_000, 3)
    records = perturb(oracle, values, np.random.default_rng(1))
    conformance.check_counts(oracle, 3, [row.tobytes() for row in records])
    assert not malformed(oracle, records).any()
    assert (indicators(oracle, records).sum(1) == 2).all()
    assert np.array_equal(support_counts(oracle, records), indicators(oracle, records).sum(0))
    records[5] = 0
    assert np.flatnonzero(malformed(oracle, records)).tolist() == [5]
    words = np.random.default_rng(4).integers(0, 2**64 - 1, (200, 3), np.uint64, endpoint=True)
    many = perturb(oracle, values[:200], np.random.default_rng(4))
    for row, own in zip(many, words.tolist(), strict=True):
        bits = conformance.SeededBits(0)
        bits.word = iter(own).__next__  # type: ignore[method-assign]
        assert oracle.randomize(3, bits) == row.tobytes()


def write_vectors(folder: Path) -> None:
    threshold_vectors.build(folder)
    record_vectors.build(folder)
    for name, group in (("thresholds", "thresholds"), ("records", "records")):
        vectors = json.loads((folder / f"{name}.json").read_text("ascii"))[group]
        assert "PAIRS" in {vector["protocol"] for vector in vectors}


def estimate_frequencies() -> None:
    oracle = create("PAIRS", k=12, epsilon="3")
    truth = np.random.default_rng(2).choice(12, 40_000, p=np.arange(12, 0, -1) / 78)
    records = perturb(oracle, truth, np.random.default_rng(3))
    shares = np.bincount(truth, minlength=12) / len(truth)
    for name, estimates in entry_points.named_estimates(oracle, records).items():
        assert abs(estimates["frequency"] - shares).max() < 0.03, name


def collect(folder: Path) -> None:
    manifest = draft(protocol="PAIRS")
    source = folder / "survey.json"
    source.write_text(json.dumps(manifest), encoding="utf-8")
    survey, codes = entry_points.published(manifest), people()
    assert survey.attribute("region").oracle.name == "PAIRS"
    assert type(survey).from_json(survey.canonical).digest == survey.digest
    assert "What is sent points at 2 of the 12 answers" in str(build_preview(survey, None))
    answers = write_people(folder / "people.csv", entry_points.domains(survey), codes)
    records = entry_points.encode(survey, codes, np.random.default_rng(21))
    read_everything(survey, records, codes)
    fakes(source, survey, answers, folder)
    told = entry_points.outlook(manifest, 5000)
    assert {row["protocol"] for row in told["own"]["attributes"]} == {"PAIRS"}
    assert told["recommended"]
    for encoding in ("indicator", "posterior"):
        run = hushpoll(
            *("train", "--data", answers, "--manifest", source, "--encoding", encoding, "--json"),
            *PARAMS,
        )
        assert json.loads(run)


def read_everything(survey, records, codes) -> None:
    for name, estimate in entry_points.estimates(survey, records, 0.95).items():
        shares = np.bincount(codes[name], minlength=len(estimate["frequency"])) / len(records)
        spread = np.maximum(estimate["standard_error"], 1e-9)
        assert (abs(estimate["frequency"] - shares) < 5 * spread).all(), name
    for a, b in combinations(("gender", "region", "income"), 2):
        table = entry_points.cross_tables(survey, records, a, b)["frequency"]
        assert abs(table.sum() - 1) < 1e-9
    shape = entry_points.shape(survey, records)
    assert not shape["flagged"]
    predicted = codes["job"] % 2
    audit = entry_points.records_audit(survey, records, predicted, outlook=True)
    assert set(audit["metrics"])
    assert entry_points.records_groups_audit(survey, records, predicted)["groups"]


def fakes(source, survey, answers, folder) -> None:
    oracle = survey.attribute("region").oracle
    ends = influence(oracle)
    # The most that a record can count as, over all of them: no record counts for more.
    gap = oracle.p - oracle.q
    assert ends.up == (1 - oracle.q) / gap
    assert ends.down == -oracle.q / gap
    ways = (
        ("--seeded-noise", "--misbehave", "poison-maximal=0.1"),
        ("--bulk",),
        ("--bulk", "--misbehave", "poison-maximal=0.2"),
        ("--bulk", "--misbehave", "poison-random=0.3"),
    )
    for number, options in enumerate(ways):
        reports = folder / f"{number}.reports"
        common = ("--manifest", source, "--data", answers, "--seed", 9)
        hushpoll("simulate", *common, *options, "--to-file", reports)
        records = entry_points.records_of_reports(reports.read_bytes(), survey.layout.record_size)
        estimates = entry_points.estimates(survey, records, 0.95)
        assert len(records) == estimates["region"]["n"]


def draw_figures() -> None:
    summaries = dict.fromkeys(METRICS, Summary(0.5, 0.01, 5, 5))
    cells = {
        Place("PAIRS", split, epsilon): summaries
        for split in ("uniform", "k-based")
        for epsilon in (1.0, 4.0)
    }
    cells[Place("NonDP", "none", math.inf)] = summaries
    assert b"line:SPD:uniform:PAIRS" in draw(Curves(cells), "fairness").svg


def main(folder: Path) -> None:
    assert "PAIRS" in PROTOCOLS
    follow_the_law()
    perturb_many()
    write_vectors(folder)
    estimate_frequencies()
    collect(folder)
    draw_figures()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
