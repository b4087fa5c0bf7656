"""The ends of sets are looked for many at a time, and are those of one look after the other."""

import numpy as np
import pytest

from hushpoll_analysis.ordered import ratios
from hushpoll_analysis.ordered.quantiles import Distribution
from hushpoll_analysis.ordered.scales import scale_of
from hushpoll_analysis.ordered.statistics import Statistics
from hushpoll_analysis.ordered.summary import answers_of, summary
from hushpoll_analysis.verdicts import judging
from hushpoll_analysis.verdicts.expected import Expected
from hushpoll_shared.queries.ordered_answers import Ordered
from relations_survey import survey


def ratios_of(n):
    published = survey(("SS", 7, "2"), ("OUE", 3, "2"))
    asked = published.attribute("a")
    answers = answers_of(Expected(published, n), "a", "b")
    return Statistics.of(answers, scale_of(asked), None).blocks[0].ratios


def end_by_bisection(found, z, at, sign):
    """One end after the other, one look after the other."""
    far = np.full(at.shape, found.low if sign < 0 else found.high)
    outer, inner, last = far, far, far
    decided = found.compatible(z, far, sign)
    beyond = decided.copy()
    for look in range(1, ratios.LOOKS):
        here = far + (at - far) * (look / (ratios.LOOKS - 1))
        reached = found.compatible(z, here, sign) & ~decided
        outer, inner = np.where(reached, last, outer), np.where(reached, here, inner)
        decided, last = decided | reached, here
    for _ in range(ratios.STEPS):
        middle = (outer + inner) / 2
        inside = found.compatible(z, middle, sign)
        outer, inner = np.where(inside, outer, middle), np.where(inside, middle, inner)
    edge = np.where(beyond, far, at)
    straight = (found.moments[1] + sign * found._half(z, edge, sign)) / found.moments[0]
    return np.where(beyond | ~decided, straight, inner)


@pytest.mark.parametrize("few", [ratios.FEW, 0])
@pytest.mark.parametrize("n", [30, 400, 20_000])
def test_ends_are_those_of_one_look_after_the_other_to_the_bit(n, few, monkeypatch):
    monkeypatch.setattr(ratios, "FEW", few)
    found = ratios_of(n)
    rng = np.random.default_rng(n)
    at = rng.uniform(-0.9, 0.9, found.moments[0].shape)
    ends = found._ends(1.96, at)
    for place, sign in enumerate((-1, 1)):
        np.testing.assert_array_equal(ends[place], end_by_bisection(found, 1.96, at, sign))


def test_sets_take_few_looks(monkeypatch):
    looks = []
    plain = ratios.Ratios.compatible
    monkeypatch.setattr(
        ratios.Ratios, "compatible", lambda *given: looks.append(1) or plain(*given)
    )
    ratios_of(400).sets(1.96)
    assert len(looks) <= 8  # one by one they were 66


def test_verdict_on_means_computes_no_quantiles(monkeypatch):
    published = survey(("SS", 7, "1"), ("OUE", 3, "1"))
    computed = []
    plain = Distribution.quantiles
    monkeypatch.setattr(
        Distribution, "quantiles", lambda *given: computed.append(1) or plain(*given)
    )
    judging._verdict.cache_clear()
    found = summary(Ordered(attribute="a", given="b"), Expected(published, 50))
    assert found.verdict.noisy
    assert len(computed) == 3  # of the result, and none of the searches
