"""Fleets answer surveys with blocks: simulated records, poisoners, and the audit of the SDKs."""

from __future__ import annotations

import random

import numpy as np
import pytest

from hushpoll_fleet.audit.certificate import audit, survey_of
from hushpoll_fleet.audit.devices import SDKS, browser_device, python_device
from hushpoll_fleet.behaviour.plan import Behaviour, FleetPlan
from hushpoll_fleet.behaviour.poisoning import poisoned, targets_of
from hushpoll_protocols import InvalidParameter, create
from hushpoll_protocols.kernels import support_counts


def test_the_audit_reaches_the_epsilon_of_a_block_and_does_not_pass_it() -> None:
    """The kernels stand in for a device: they draw by the same law, and fast."""
    rng = np.random.default_rng(3)

    def fast(published, value, times):
        from hushpoll_shared.wire.batch import encode_many

        (block,) = published.blocks
        codes = zip(block.questions, block.part(value), strict=True)
        columns = {question.name: np.full(times, code) for question, code in codes}
        return encode_many(published, columns, rng).tobytes()

    finding = audit(fast, "SS", "1", sdk="kernels", draws=200_000, together=True)
    assert not finding.overspends
    assert finding.share > 0.9


def test_the_audit_of_a_block_accuses_a_device_that_overspends() -> None:
    loud = survey_of("GRR", "3", together=True)
    finding = audit(
        lambda _, value, times: python_device(loud, value, times),
        "GRR",
        "1",
        sdk="loud",
        draws=4_000,
        together=True,
    )
    assert finding.overspends


@pytest.mark.parametrize("sdk", SDKS)
def test_each_sdk_answers_the_combination_that_the_audit_asks_for(sdk: str) -> None:
    published = survey_of("GRR", "40", together=True)
    (block,) = published.blocks
    assert [question.k for question in block.questions] == [2, 2]
    for value in range(4):
        data = SDKS[sdk](published, value, 20)
        # A lie has a chance of under 1e-15.
        assert {block.oracle.support(data[at : at + 1]) for at in range(20)} == {(value,)}


def test_poisoners_write_a_blocks_field() -> None:
    published = survey_of("OUE", "2", together=True)
    (block,) = published.blocks
    answers = {question.name: question.domain[0] for question in block.questions}
    aims = FleetPlan(seed=1).aims(published)
    assert aims == {"block": 0}
    for behaviour in (Behaviour.POISON_MAXIMAL, Behaviour.POISON_RANDOM):
        record = poisoned(published, behaviour, answers, targets=aims, rng=random.Random(4))
        published.layout.check(record)
    with pytest.raises(InvalidParameter, match=r"answer is randomised together.*block block"):
        targets_of(published, ("answer=answer 1",))


def test_the_kernels_count_a_blocks_combinations() -> None:
    oracle = create("GRR", k=4, epsilon="40")
    data = browser_device(survey_of("GRR", "40", together=True), 2, 50)
    counts = support_counts(oracle, np.frombuffer(data, np.uint8).reshape(-1, 1))
    assert counts.tolist() == [0, 0, 50, 0]
