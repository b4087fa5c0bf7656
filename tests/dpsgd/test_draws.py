"""What a training by DP-SGD draws: from the system where it protects rows, or from a seed."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from hushpoll_lab.central.dpsgd import SgdPlan, train_dpsgd
from hushpoll_lab.central.dpsgd_f import train_dpsgd_f
from hushpoll_lab.central.draws import Draws
from hushpoll_lab.central.fairdp import FairDPPlan, train_fairdp
from hushpoll_lab.central.network import Network

ROWS, LABEL, GROUP = np.ones((40, 3)), np.arange(40) % 2, np.arange(40) // 20
PLAN = SgdPlan(epochs=2, batch_size=10)
FAIRDP = FairDPPlan(hidden=(4,), steps=4, sample_rate=0.2)

TRAININGS: dict[str, Callable[[], Network]] = {
    "dpsgd": lambda: train_dpsgd(ROWS, LABEL, PLAN),
    "dpsgd-f": lambda: train_dpsgd_f(ROWS, LABEL, GROUP, PLAN, groups=2),
    "fairdp": lambda: train_fairdp(ROWS, LABEL, GROUP, FAIRDP).networks[0],
}


@pytest.mark.parametrize("name", TRAININGS)
def test_noise_that_protects_rows_is_not_drawn_by_a_generator_with_a_small_seed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (torch.Generator().manual_seed(7 + high * 2**32) for high in (0, 1))
    # PyTorch keeps 32 bits of a seed, few enough to try them all.
    assert torch.equal(torch.randn(9, generator=first), torch.randn(9, generator=second))

    class Refusing(torch.Generator):
        def manual_seed(self, seed: int) -> torch.Generator:
            raise AssertionError(f"PyTorch's generator draws the noise, from the seed {seed}")

    monkeypatch.setattr(torch, "Generator", Refusing)
    one, other = TRAININGS[name](), TRAININGS[name]()
    assert (one.weights[0] != other.weights[0]).any()


@pytest.mark.parametrize("seed", [None, 3])
def test_batches_and_noise_have_their_laws(seed: int | None) -> None:
    # Seven standard deviations each: without a seed, once in 10^11 runs by chance.
    draws = Draws(seed)
    sizes = [len(draws.sample(2000, 0.1)) for _ in range(50)]
    assert np.mean(sizes) == pytest.approx(200, abs=7 * (180 / 50) ** 0.5)
    assert len(draws.sample(300, 1.0)) == 300
    for double in (False, True):
        noise = draws.normal(3.0, (100, 200), double=double)
        assert noise.dtype == (torch.float64 if double else torch.float32)
        assert float(noise.std()) == pytest.approx(3.0, rel=0.035)
        assert float(noise.mean()) == pytest.approx(0.0, abs=7 * 3 / 20_000**0.5)
    parts = draws.parts(9000, 3).bincount(minlength=3)
    assert parts.numpy() == pytest.approx(np.full(3, 3000), abs=7 * 2000**0.5)


def test_no_row_is_sampled_with_more_than_the_chance_that_is_accounted() -> None:
    # PyTorch's numbers have 24 bits. A rate between two of them must not count as the upper one.
    smallest = torch.rand(1000, generator=torch.Generator().manual_seed(0)).min()
    assert len(Draws(0).sample(1000, float(smallest) + 1e-9)) == 0
    assert len(Draws(0).sample(1000, float(smallest) + 2**-24)) == 1


def test_rows_fall_in_the_parts_of_several_models_independently_of_each_other() -> None:
    """Parts by a row's place in the batch would all change when an earlier row is removed."""
    plan = replace(FAIRDP, steps=1, sample_rate=1.0, noise_multiplier=0.0)
    rows = np.random.default_rng(1).normal(size=(40, 3))
    one, other = (
        train_fairdp(rows, LABEL, GROUP, plan, models=2, noise_seed=seed).networks[0]
        for seed in (1, 2)
    )
    assert (one.weights[-1] != other.weights[-1]).any()
