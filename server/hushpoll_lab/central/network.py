"""Fully connected networks with one output: what scores rows, without the library that trained it.

Logistic regression is the network without a hidden layer.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from hushpoll_lab.central.logistic import Matrix, Vector

Weights = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Network:
    """Layers of weights; hidden layers are followed by a ReLU, the output by a sigmoid."""

    weights: tuple[Weights, ...]
    """By layer, f32[outputs, inputs]; the last has one output."""
    biases: tuple[Weights | None, ...]
    """By layer, f32[outputs]; None where a layer has none."""

    @classmethod
    def linear(cls, weights: Vector) -> Network:
        """Return the network of one layer with these weights; the last one is the intercept."""
        narrow = weights.astype(np.float32)
        return cls((narrow[None, :-1],), (narrow[-1:],))

    @property
    def linear_weights(self) -> Vector:
        """The weights of a network of one layer, and last its intercept: f64[m + 1]."""
        (matrix,), (bias,) = self.weights, self.biases
        intercept = np.zeros(1) if bias is None else bias
        return np.concatenate([matrix[0], intercept]).astype(np.float64)

    def hidden(self, rows: Matrix) -> npt.NDArray[np.float64]:
        """Return what the last layer is given, f64[n, width]; the rows, without a hidden layer."""
        values: Matrix = rows
        for weights, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            values = np.asarray(values @ weights.T.astype(np.float64))
            if bias is not None:
                values = values + bias
            values = np.maximum(values, 0)
        return values if isinstance(values, np.ndarray) else values.toarray()

    def logits(self, rows: Matrix) -> Vector:
        """Return the output before the sigmoid, f64[n]; a row above 0 is predicted 1."""
        values = self.hidden(rows) @ self.weights[-1][0].astype(np.float64)
        bias = self.biases[-1]
        return np.asarray(values if bias is None else values + float(bias[0]))

    def scores(self, rows: Matrix) -> Vector:
        """Return the chance of a positive label, f64[n] in [0, 1]."""
        return np.asarray(expit(self.logits(rows)))

    def save(self) -> bytes:
        """Return the arrays as an NPZ file, which holds no code."""
        arrays: dict[str, Weights] = {}
        for layer, (weights, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            arrays[f"weights_{layer}"] = weights
            if bias is not None:
                arrays[f"bias_{layer}"] = bias
        file = io.BytesIO()
        np.savez(file, **arrays)  # type: ignore[arg-type]
        return file.getvalue()

    @classmethod
    def load(cls, content: bytes, columns: int) -> Network:
        """Read the NPZ file of :meth:`save`.

        Refuses damaged ones, and layers that do not fit the columns.
        """
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as file:
                arrays = {name: np.asarray(file[name]) for name in file.files}
        except Exception as error:  # damaged archives raise errors of several libraries
            raise ValueError(f"the file of weights cannot be read: {error}") from None
        weights: list[Weights] = []
        biases: list[Weights | None] = []
        inputs = columns
        while f"weights_{len(weights)}" in arrays:
            layer = len(weights)
            matrix, bias = arrays.pop(f"weights_{layer}"), arrays.pop(f"bias_{layer}", None)
            fits = matrix.ndim == 2 and matrix.shape[1] == inputs
            if not fits or (bias is not None and bias.shape != matrix.shape[:1]):
                raise ValueError(f"layer {layer} has shape {matrix.shape}, for {inputs} inputs")
            for array in (matrix, bias):
                if array is not None and (
                    array.dtype != np.float32 or not np.isfinite(array).all()
                ):
                    raise ValueError(f"layer {layer} holds other values than finite float32")
            weights.append(matrix)
            biases.append(bias)
            inputs = matrix.shape[0]
        if arrays or not weights or inputs != 1:
            raise ValueError("the layers do not end in one output")
        return cls(tuple(weights), tuple(biases))


def layer_sizes(columns: int, hidden: Sequence[int]) -> list[tuple[int, int]]:
    """Return inputs and outputs of each layer."""
    sizes = [columns, *hidden, 1]
    return list(pairwise(sizes))
