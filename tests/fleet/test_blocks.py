"""Fleets answer surveys with blocks: simulated records, poisoners, and the audit of the SDKs."""

from __future__ import annotations

import random

import numpy as np
import pytest

from hushpoll_fleet.audit import KINDS, SDKS, audit, browser_device, python_device, survey_of
from hushpoll_fleet.behaviour import Behaviour, FleetPlan, poisoned_record, targets_of
from hushpoll_fleet.population.simulated_respondents import SimulatedRespondents
from hushpoll_fleet.sending.bulk import blocks
from hushpoll_fleet.sending.fleet import Fleet
from hushpoll_protocols import InvalidParameter, create
from hushpoll_protocols.kernels import support_counts
from hushpoll_shared import Manifest
from hushpoll_shared.wire.batch import encode_many


def answers_of(block, value):
    """The answers of a combination of a block."""
    codes = zip(block.questions, block.part(value), strict=True)
    return {question.name: question.domain[code] for question, code in codes}


@pytest.mark.parametrize("kind", ["together", "number", "select-all"])
def test_the_audit_reaches_the_epsilon_of_each_kind_and_does_not_pass_it(kind) -> None:
    """The kernels stand in for a device: they draw by the same law, and fast."""
    rng = np.random.default_rng(3)

    def fast(published, answers, times):
        codes = published.layout.code_answers(answers)
        columns = {name: np.full(times, code) for name, code in codes.items()}
        return encode_many(published, columns, rng).tobytes()

    finding = audit(fast, "SS", "1", sdk="kernels", draws=200_000, kind=kind)
    assert not finding.overspends
    assert finding.share > 0.9


def test_the_audit_of_a_block_accuses_a_device_that_overspends() -> None:
    loud = survey_of("GRR", "3", "together")
    finding = audit(
        lambda _, answers, times: python_device(loud, answers, times),
        "GRR",
        "1",
        sdk="loud",
        draws=4_000,
        kind="together",
    )
    assert finding.overspends


@pytest.mark.parametrize("sdk", SDKS)
def test_each_sdk_answers_the_combination_that_the_audit_asks_for(sdk: str) -> None:
    published = survey_of("GRR", "40", "together")
    (block,) = published.blocks
    assert [question.k for question in block.questions] == [2, 2]
    for value in range(4):
        data = SDKS[sdk](published, answers_of(block, value), 20)
        # A lie has a chance of under 1e-15.
        assert {block.oracle.support(data[at : at + 1]) for at in range(20)} == {(value,)}


@pytest.mark.parametrize("kind", ["number", "select-all"])
@pytest.mark.parametrize("sdk", SDKS)
def test_each_sdk_answers_numbers_and_select_alls_that_the_audit_asks_for(sdk, kind) -> None:
    published = survey_of("GRR", "40", kind)
    (field,) = published.layout.fields
    for given, code in zip(KINDS[kind].answers, (0, 3), strict=True):
        data = SDKS[sdk](published, given, 20)
        # A lie has a chance of under 1e-15.
        assert {field.oracle.support(data[at : at + 1]) for at in range(20)} == {(code,)}


def test_a_select_all_whose_options_are_apart_is_audited_as_a_whole() -> None:
    """At this epsilon two questions tell more than a block; each spends half of it."""
    published = survey_of("BLH", "4", "select-all")
    assert len(published.blocks) == 2
    finding = audit(python_device, "BLH", "4", sdk="python", draws=20_000, kind="select-all")
    assert finding.realized_epsilon == pytest.approx(4, abs=1e-6)
    assert 3 < finding.lower_bound < finding.realized_epsilon
    loud = survey_of("BLH", "5", "select-all")
    assert loud.layout.record_size == published.layout.record_size
    found = audit(
        lambda _, answers, times: python_device(loud, answers, times),
        "BLH",
        "4",
        sdk="loud",
        draws=20_000,
        kind="select-all",
    )
    assert found.overspends


def test_poisoners_write_the_field_of_a_number_and_of_a_select_all() -> None:
    """In bulk too, where answers are those of a file: a number's code is no anchor's."""
    manifest = Manifest.from_dict(
        {
            "name": "rent",
            "version": 1,
            "title": "Rent",
            "epsilon": "2",
            "protocol": "SS",
            "attributes": [
                {"name": "rent", "role": "sensitive", "number": {"low": 0, "high": 3000}},
                {"name": "drugs", "role": "sensitive", "categories": ["a", "b"], "select": {}},
            ],
        }
    )
    published = manifest.resolve()
    columns = {"rent": (850, 2999), "drugs_1": (0, 1), "drugs_2": (1, 1)}
    respondents = SimulatedRespondents(published.attributes, columns)
    plan = FleetPlan(shares={Behaviour.POISON_MAXIMAL: 1.0}, seed=1)
    assignments = plan.assignments(2)
    fleet = Fleet(
        published=published,
        respondents=respondents,
        assignments=assignments,
        plan=plan,
        noise_seed=1,
    )
    (block,) = blocks(fleet)
    assert len(block.records) == 2
    for record in block.records:
        published.layout.check(record.tobytes())


def test_poisoners_write_a_blocks_field() -> None:
    published = survey_of("OUE", "2", "together")
    (block,) = published.blocks
    answers = {question.name: question.domain[0] for question in block.questions}
    aims = FleetPlan(seed=1).aims(published)
    assert aims == {"block": 0}
    for behaviour in (Behaviour.POISON_MAXIMAL, Behaviour.POISON_RANDOM):
        record = poisoned_record(published, behaviour, answers, targets=aims, rng=random.Random(4))
        published.layout.check(record)
    with pytest.raises(InvalidParameter, match=r"answer is randomised together.*block block"):
        targets_of(published, ("answer=answer 1",))


def test_the_kernels_count_a_blocks_combinations() -> None:
    oracle = create("GRR", k=4, epsilon="40")
    published = survey_of("GRR", "40", "together")
    data = browser_device(published, answers_of(published.blocks[0], 2), 50)
    counts = support_counts(oracle, np.frombuffer(data, np.uint8).reshape(-1, 1))
    assert counts.tolist() == [0, 0, 50, 0]
