"""Rows that a program draws: two groups, two numbers, and a label that depends on both."""

from __future__ import annotations

import numpy as np

from hushpoll_lab.datasets.clear.rows import ClearRows, Scale


def draw(rows: int = 10_000, seed: int = 0) -> ClearRows:
    """Draw rows: group 1 has three fifths of the people and the larger chance of a positive label.

    The label is positive where merit + 0.8 group + noise exceeds 0.4, with standard normal merit
    and noise; ``luck`` is normal and tells nothing.

    Parameters
    ----------
    rows : int
        At least 1.
    seed : int
        What rows are drawn by.
    """
    rng = np.random.default_rng([seed, 0xC1EA])
    group = (rng.random(rows) < 0.6).astype(np.int64)
    merit, luck, noise = rng.normal(size=(3, rows))
    label = (merit + 0.8 * group + noise > 0.4).astype(np.int64)
    scale = Scale(0.0, 1.0, (-1.0, -0.5, 0.0, 0.5, 1.0))
    return ClearRows(
        "synthetic",
        {"merit": merit, "luck": luck},
        {"merit": scale, "luck": scale},
        {"group": group, "label": label},
        {"group": ("0", "1"), "label": ("0", "1")},
        "label",
        "group",
    )
