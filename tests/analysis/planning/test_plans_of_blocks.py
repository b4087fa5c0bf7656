"""What is planned of blocks is what simulated records of them give."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from math import prod
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from hushpoll_analysis.auditing.power import AuditAssumptions
from hushpoll_analysis.cli.plan import plan_command
from hushpoll_analysis.estimates.combination_sums import Sums, variance_coefficients
from hushpoll_analysis.estimates.precision import protected_width
from hushpoll_analysis.planning.block_outcomes import (
    Setting,
    Share,
    Table,
    ratios_power,
    share_width,
)
from hushpoll_analysis.planning.goals import KINDS, Goal
from hushpoll_analysis.planning.outcomes import outcome
from hushpoll_analysis.planning.planner import plan
from hushpoll_analysis.planning.verdicts import verdicts
from hushpoll_analysis.planning.ways import apart, blocks_of_pairs, joined
from hushpoll_protocols import create
from hushpoll_protocols.estimation.weights import WeightLaw
from hushpoll_protocols.kernels import indicators, perturb
from hushpoll_shared import Manifest
from hushpoll_shared.survey.published import Published

ROOT = Path(__file__).parents[3]
N = 1_000
SURVEYS = 4_000


def drafted(protocol: str = "SS", epsilon: str = "2", **more: object) -> Manifest:
    draft = {
        "name": "habits",
        "version": 1,
        "title": "Habits",
        "epsilon": epsilon,
        "protocol": protocol,
        "attributes": [
            {"name": "gender", "role": "sensitive", "categories": ["f", "m"]},
            {"name": "scale", "role": "sensitive", "range": [1, 3]},
            {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]},
        ],
        "together": [{"name": "both", "attributes": ["gender", "scale"]}],
    }
    return Manifest.from_dict(draft | more)


def simulated(oracle, k: int, surveys: int, seed: int) -> np.ndarray:
    """Estimated shares f64[surveys, k] of sets of combinations, people and noise drawn anew."""
    rng = np.random.default_rng(seed)
    records = perturb(oracle, rng.integers(0, oracle.k, N * surveys), rng)
    counts = indicators(oracle, records).reshape(surveys, N, -1).sum(axis=1, dtype=np.int64)
    p, q = float(oracle.p), float(oracle.q)
    found = WeightLaw.of(oracle).frequencies((counts / N - q) / (p - q))
    return found.reshape(surveys, k, -1).sum(axis=2)


@pytest.mark.parametrize("protocol", ["SS", "OUE"])
def test_a_share_and_a_cell_vary_as_planned(protocol):
    oracle = drafted(protocol).resolve().attribute("gender").oracle
    for k in (2, 6):  # gender, and the table
        seen = simulated(oracle, k, SURVEYS // 2, 5).std(axis=0)
        planned = Share(oracle, k, N, 1 / k).deviation
        assert np.sqrt(np.square(seen).mean()) == pytest.approx(planned, rel=0.03)


def test_a_cell_across_blocks_varies_as_planned():
    published = drafted(epsilon="4").resolve()
    of, given = published.attribute("gender"), published.attribute("smokes")
    rng = np.random.default_rng(11)
    weights = []
    for attribute in (of, given):
        records = perturb(attribute.oracle, rng.integers(0, attribute.oracle.k, N * SURVEYS), rng)
        own = indicators(attribute.oracle, records).reshape(len(records), attribute.k, -1)
        p, q = float(attribute.oracle.p), float(attribute.oracle.q)
        weights.append(((own - q) / (p - q)).sum(axis=2)[:, 0])
    seen = (weights[0] * weights[1]).reshape(SURVEYS, N).mean(axis=1).std()
    cell = np.array([1.0, 0.0])
    table = Table(of, given, np.full((2, 2), 0.25))
    planned = np.sqrt(table.covariance((cell, cell), (cell, cell)) / N)
    assert seen == pytest.approx(planned, rel=0.03)


def test_moments_of_a_table_are_those_of_all_its_sums():
    """Weights of a record sum to 1, and a share from the table is that from the question."""
    for protocol in ("SS", "OUE", "OLH"):
        published = drafted(protocol).resolve()
        of, given = published.attribute("gender"), published.attribute("scale")
        table = Table(of, given, np.full((2, 3), 1 / 6))
        one, all_of, every = np.array([1.0, 0.0]), np.ones(2), np.ones(3)
        assert table.covariance((all_of, every), (all_of, every)) == pytest.approx(0, abs=1e-9)
        c0, c1, c2 = variance_coefficients(of.oracle, 2)
        share = table.covariance((one, every), (one, every))
        assert share == pytest.approx(c0 + c1 / 2 + c2 / 4)


def test_the_power_of_a_gap_is_its_share_of_normal_surveys():
    published = drafted(epsilon="2").resolve()
    of, given = published.attribute("scale"), published.attribute("gender")
    own, even_rest = np.array([1.0, 0.0, 0.0]), np.ones(3)
    groups = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    level = np.array([0.5, 0.25, 0.25]), np.array([0.3, 0.35, 0.35])

    def power(n: int, first: int) -> float:
        people = np.stack([level[first], level[1]], axis=1) / 2
        table = Table(of, given, people)
        return ratios_power(table, (own, even_rest), groups, Setting(n, 0.95, 4_000))

    assert power(5_000, 1) == pytest.approx(0.05, abs=0.015)
    powers = [power(n, 0) for n in (300, 1_000, 3_000, 10_000)]
    assert all(below < above for below, above in pairwise(powers))
    assert powers[-1] > 0.95


def test_two_yes_no_questions_need_half_the_standard_error_of_a_cell_at_epsilon_2():
    block, alone = (create("SS", k=k, epsilon=e, omega=1) for k, e in ((4, "2"), (2, "1")))
    together = Share(block, 4, N, 0.25).deviation
    second = Sums(alone, np.full(2, 0.5)).products(*[np.array([1.0, 0.0])] * 2).mean()
    split = np.sqrt((second**2 - 1 / 16) / N)
    assert together <= 0.55 * split


def test_the_table_of_variance_ratios_is_that_of_the_page():
    text = (ROOT / "docs/explanation/questions-together.md").read_text(encoding="utf-8")
    rows = re.findall(r"^((?:\d x )+\d) +(.*/.*)$", text, re.MULTILINE)
    assert len(rows) == 4
    for heading, cells in rows:
        sizes = [int(part) for part in heading.split(" x ")]
        said = [[float(part) for part in pair] for pair in re.findall(r"(\S+) / (\S+)", cells)]
        for epsilon, (cell, share) in zip((0.5, 1, 2, 4), said, strict=True):
            assert ratios(sizes, epsilon) == pytest.approx((cell, share), rel=0.006, abs=0.006)


def ratios(sizes: list[int], epsilon: float) -> tuple[float, float]:
    """Variance of splitting over that of a block, of a cell and of a share, with the best SS."""
    k, d, whole = sizes[0], len(sizes), prod(sizes)

    def best(domain: int, part: float, loss) -> float:
        spelled = f"{part:.12f}"
        oracles = (create("SS", k=domain, epsilon=spelled, omega=w) for w in range(1, domain))
        return min(map(loss, oracles))

    def variance(oracle, sets: int) -> float:
        c0, c1, c2 = variance_coefficients(oracle, sets)
        return c0 + c1 / sets + c2 / sets**2

    def product(oracle) -> float:
        return (variance(oracle, k) + k**-2) ** d - k ** (-2 * d)

    return (
        best(k, epsilon / d, product) / best(whole, epsilon, lambda one: variance(one, whole)),
        best(k, epsilon / d, lambda one: variance(one, k))
        / best(whole, epsilon, lambda one: variance(one, k)),
    )


def published_with_audit(together: list[str]) -> Published:
    return drafted(
        "GRR",
        "3",
        attributes=[
            {"name": "gender", "role": "sensitive", "categories": ["f", "m"]},
            {"name": "scale", "role": "sensitive", "range": [1, 3]},
            {
                "name": "pay",
                "role": "target",
                "protocol": "GRR",
                "categories": ["low", "high"],
                "positive": "high",
            },
        ],
        protected={"attribute": "gender", "privileged": "m", "unprivileged": "f"},
        together=[{"name": "both", "attributes": together}],
    ).resolve()


def test_an_audit_of_group_and_label_in_one_block_needs_fewer_people():
    given = AuditAssumptions()
    goal = Goal("audit", "EOD", 0.2)
    apart, together = (
        outcome(goal, published_with_audit(names), 3_000, given, surveys=500).value
        for names in (["gender", "scale"], ["gender", "pay"])
    )
    assert together > apart + 0.1


def test_every_goal_of_a_block_has_an_outcome_that_more_people_improve():
    published, given = drafted().resolve(), AuditAssumptions()
    for kind in KINDS:
        if kind in ("audit", "slope"):  # which have tests of their own
            continue
        paired = kind in ("gap", "association", "mean-gap")
        subject = "scale/gender" if paired else "scale"
        others = (subject, "scale/smokes") if paired else (subject,)
        for names in others:
            few, many = (
                outcome(Goal(kind, names, 0.2), published, n, given, surveys=500).value
                for n in (500, 50_000)
            )
            narrower = kind in ("width", "lead-width", "mean")
            assert many < few if narrower else many > few, (kind, names, few, many)


def test_a_block_is_planned_with_words():
    manifest = drafted(protected={"attribute": "gender", "privileged": "m", "unprivileged": "f"})
    document = plan(manifest, 2_000)
    own = document["options"][0]
    share = Share(manifest.resolve().attribute("gender").oracle, 2, 2_000, 0.5)
    assert own["attributes"][0]["width"] == share_width(share, 0.95)
    named = {one["split"]: one.get("error") for one in document["options"][:4]}
    assert "k-based" in named["k-based"]
    assert document["recommended"] is not None
    assert protected_width(manifest.resolve(), 2_000).width > own["attributes"][0]["width"] * 0.9
    told = verdicts(manifest, [Goal("gap", "scale/gender", 0.3)], n=2_000)
    assert told["verdict"].startswith(("Yes", "No"))


def wide(**more: object) -> Manifest:
    """Two questions of 6 answers at epsilon 1, where a block loses shares and gains pairs."""
    attributes = [
        {"name": name, "role": "sensitive", "range": [1, 6]} for name in ("first", "second")
    ]
    return drafted("SS", "1", attributes=attributes, **{"together": None} | more)


def test_a_pair_is_put_together_and_shares_of_large_domains_are_left_alone(tmp_path):
    pair = verdicts(wide(), [Goal("association", "first/second", 0.5)])["together"]
    assert pair["recommended"] == "together"
    apart, together = (way["n_needed_for_all"] for way in pair["ways"])
    assert apart > 5 * together
    assert pair["verdict"] == (
        f"Put together first and second: all that is wanted takes {together:,} respondents, and "
        f"alone it takes {apart:,}, because what is wanted of two questions of a block is paid for "
        "once."
    )
    block = [{"name": "both", "attributes": ["first", "second"]}]
    document = verdicts(wide(together=block), [Goal("width", "first", 0.1)], n=1_000)
    apart, together = (way["n_needed_for_all"] for way in document["together"]["ways"])
    assert document["together"]["verdict"] == (
        f"Leave first and second alone: all that is wanted takes {apart:,} respondents, and "
        f"together it takes {together:,}, because the one answer to a block has so many values "
        "that this loses more than its larger part of epsilon gains."
    )
    assert document["goals"][0]["n_needed"] == together  # the draft as it is
    path = tmp_path / "draft.json"
    path.write_text(json.dumps(wide(together=block).to_dict(), default=str), encoding="utf-8")
    said = CliRunner().invoke(plan_command, [str(path), "--want", "width:first=0.1"])
    assert "Leave first and second alone" in " ".join(said.output.split())


def test_weights_follow_their_questions_into_a_block_and_out_of_it():
    alone = wide(split={"weights": {"first": 1, "second": 2}})
    goal = Goal("association", "first/second", 0.5)
    block = joined(alone, blocks_of_pairs(alone, [goal]))
    assert dict(block.split.weights) == {"together-1": 3}
    assert len(set(dict(apart(block).split.weights).values())) == 1
    ways = verdicts(alone, [Goal("width", "first", 0.3)])["together"]["ways"]
    assert [way["name"] for way in ways] == ["split", "drawn"]  # no pair is wanted, so no block
