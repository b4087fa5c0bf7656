"""Networks score rows with numpy alone, and are saved and read without code."""

import io
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from hushpoll_lab.central.network import Network


def network(*sizes: int, bias: bool = True) -> Network:
    rng = np.random.default_rng(len(sizes))
    pairs = list(pairwise(sizes))
    return Network(
        tuple(rng.normal(size=(out, into)).astype(np.float32) for into, out in pairs),
        tuple(rng.normal(size=out).astype(np.float32) if bias else None for _, out in pairs),
    )


def test_scores_are_those_of_the_layers_written_out() -> None:
    made = network(3, 2, 1)
    row = np.array([[0.5, -1.0, 2.0]])
    first, second = made.weights
    bias_1, bias_2 = made.biases
    hidden = [max(0.0, float(first[i] @ row[0] + bias_1[i])) for i in (0, 1)]
    logit = second[0][0] * hidden[0] + second[0][1] * hidden[1] + bias_2[0]
    assert made.logits(row)[0] == pytest.approx(logit)
    assert made.scores(row)[0] == pytest.approx(1 / (1 + np.exp(-logit)))


@pytest.mark.parametrize("sizes", [(4, 1), (4, 6, 1), (4, 3, 5, 1)])
@pytest.mark.parametrize("bias", [True, False])
def test_network_is_read_as_it_was_saved(sizes: tuple[int, ...], bias: bool) -> None:
    made = network(*sizes, bias=bias)
    rows = csr_matrix(np.random.default_rng(1).normal(size=(7, 4)))
    again = Network.load(made.save(), 4)
    assert (again.scores(rows) == made.scores(rows)).all()
    assert made.scores(rows) == pytest.approx(made.scores(rows.toarray()))


def damaged(**arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no archive", "cannot be read"),
        (damaged(), "do not end in one output"),
        (damaged(weights_0=np.ones((2, 4), np.float32)), "do not end in one output"),
        (damaged(weights_0=np.ones((1, 3), np.float32)), "for 4 inputs"),
        (damaged(weights_0=np.ones((1, 4))), "finite float32"),
        (damaged(weights_0=np.full((1, 4), np.nan, np.float32)), "finite float32"),
        (damaged(weights_0=np.ones((1, 4), np.float32), bias_0=np.ones(2, np.float32)), "layer 0"),
        (damaged(weights_0=np.ones((1, 4), np.float32), more=np.ones(1)), "do not end in one"),
        (damaged(weights_0=np.array([[object()] * 4])), "cannot be read"),
    ],
)
def test_other_files_are_refused(content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Network.load(content, 4)
