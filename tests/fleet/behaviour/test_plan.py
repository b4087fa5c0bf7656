"""Arrivals, behaviours and poisoned records, without a server."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from itertools import pairwise

import pytest

from decoded import clear_answers, part_of
from hushpoll_fleet.behaviour import (
    Arrivals,
    Behaviour,
    FleetPlan,
    arrival_times,
    assign,
    parse_shares,
    poisoned_record,
    targets_of,
)
from hushpoll_fleet.sending.wire import Schedule
from hushpoll_protocols.errors import InvalidParameter
from waiting import LONGEST_SECONDS

COUNT = 20_000


def test_at_once_is_now():
    assert arrival_times(Arrivals.AT_ONCE, 3, seconds=0, rng=random.Random(1)) == [0.0, 0.0, 0.0]


def test_a_poisson_process_has_exponential_gaps():
    times = arrival_times(Arrivals.POISSON, COUNT, seconds=100, rng=random.Random(1))
    assert times == sorted(times)
    assert times[0] >= 0
    assert times[-1] < 100
    gaps = [later - earlier for earlier, later in pairwise(times)]
    mean = sum(gaps) / len(gaps)
    # Of exponential gaps, exp(-1) are longer than the mean; five standard errors.
    longer = sum(gap > mean for gap in gaps) / len(gaps)
    assert longer == pytest.approx(0.36788, abs=5 * 0.0034)


def test_a_day_is_busiest_at_its_middle():
    times = arrival_times(Arrivals.DAILY, COUNT, seconds=24, rng=random.Random(1))
    hours = Counter(int(one) for one in times)
    # The intensity 0.05 + 0.95 (1 - cos(2 pi t)) / 2 over its mean of 0.525, for one hour of 24.
    assert hours[0] / COUNT == pytest.approx(0.0545 / 0.525 / 24, abs=0.0025)
    assert hours[12] / COUNT == pytest.approx(0.9946 / 0.525 / 24, abs=0.009)


@pytest.mark.parametrize("seconds", [0, -1, 86_401, float("nan")])
def test_a_pattern_takes_time(seconds):
    with pytest.raises(InvalidParameter, match="duration is"):
        arrival_times(Arrivals.POISSON, 3, seconds=seconds, rng=random.Random(1))


def test_shares_are_met_to_the_nearest_one():
    shares = parse_shares(["replay=0.1", "offline=0.25", "poison-random=0.004"])
    found = Counter(assign(shares, 1000, random.Random(1)))
    assert found == {
        Behaviour.REPLAY: 100,
        Behaviour.OFFLINE: 250,
        Behaviour.POISON_RANDOM: 4,
        Behaviour.HONEST: 646,
    }
    thirds = dict.fromkeys([Behaviour.REPLAY, Behaviour.OFFLINE, Behaviour.WRONG_VERSION], 0.5)
    assert len(assign(thirds, 3, random.Random(1))) == 3


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["replay"], "'replay'; give NAME=SHARE"),
        (["replay=none"], "give NAME=SHARE"),
        (["honest=0.5"], "give NAME=SHARE with a name out of replay"),
        (["lying=0.5"], "'lying=0.5'"),
        (["replay=0"], r"a share in \(0, 1\]"),
        (["replay=1.1"], r"a share in \(0, 1\]"),
        (["replay=nan"], r"a share in \(0, 1\]"),
        (["replay=0.1", "replay=0.2"], "names 'replay' twice"),
        (["replay=0.6", "offline=0.6"], "shares of 1.2 together"),
    ],
)
def test_wrong_shares_are_refused(texts, words):
    with pytest.raises(InvalidParameter, match=words):
        parse_shares(texts)


def test_a_seed_gives_the_same_roles_and_another_seed_others():
    shares = {Behaviour.REPLAY: 0.5}
    first, again, other = (
        FleetPlan(arrivals=Arrivals.DAILY, duration=9, shares=shares, seed=seed).assignments(50)
        for seed in (4, 4, 5)
    )
    assert first == again
    assert first != other


def test_how_long_one_is_offline_has_an_interval():
    with pytest.raises(InvalidParameter, match="offline_seconds is -1"):
        FleetPlan(offline_seconds=-1)


def test_a_poisoner_answers_in_clear_as_it_is(manifest):
    published = manifest.resolve()
    answers = {one.name: one.domain[0] for one in published.attributes}
    targets = targets_of(published, ("gender=Male",))
    record = poisoned_record(
        published,
        Behaviour.POISON_MAXIMAL,
        answers,
        targets=FleetPlan(targets=targets).aims(published),
        rng=random.Random(1),
    )
    layout = published.layout
    layout.check(record)
    for name, category in clear_answers(layout, record).items():
        assert answers[name] == category
    gender = next(one for one in published.attributes if one.name == "gender")
    assert gender.code("Male") in gender.oracle.support(part_of(layout, record, "gender"))


def test_what_is_no_perturbed_attribute_is_no_target(manifest):
    published = manifest.resolve()
    clear = next(one.name for one in published.attributes if one.oracle is None)
    for text in ("nothing=Male", "gender", f"{clear}=x"):
        with pytest.raises(InvalidParameter):
            targets_of(published, (text,))


def test_a_schedule_gives_items_when_they_are_due_and_in_their_order():
    over = threading.Event()
    began = time.monotonic()
    schedule = Schedule(iter([(0.0, "a"), (0.0, "b"), (1.5, "d")]), over)
    assert schedule.take() == "a"
    schedule.put(0.05, "c")
    schedule.done()
    assert [schedule.take(), schedule.take()] == ["b", "c"]
    schedule.done()
    assert time.monotonic() - began >= 0.05
    assert schedule.take() == "d"
    assert time.monotonic() - began >= 1.5
    schedule.done()
    schedule.done()
    assert schedule.take() is None


def test_a_schedule_waits_for_those_who_may_put_something_in():
    schedule = Schedule(iter([(0.0, "a")]), threading.Event())
    schedule.take()
    found = []
    thread = threading.Thread(target=lambda: found.append(schedule.take()))
    thread.start()
    time.sleep(0.1)
    assert thread.is_alive()
    schedule.put(0, "b")
    schedule.done()
    thread.join(LONGEST_SECONDS)
    assert found == ["b"]


def test_a_schedule_that_is_over_gives_nothing():
    over = threading.Event()
    over.set()
    assert Schedule(iter([(0.0, "a")]), over).take() is None
