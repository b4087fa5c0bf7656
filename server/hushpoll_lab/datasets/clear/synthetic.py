"""Rows that a program draws: two groups, numbers, and a label that depends on both."""

from __future__ import annotations

import numpy as np

from hushpoll_lab.datasets.clear.rows import ClearRows, Scale

FEATURES = 12
DEVIATION = 3.65


def draw_synthetic(rows: int = 10_000, seed: int = 0) -> ClearRows:
    """Draw rows: group 1 has three fifths of the people and the larger chance of a positive label.

    The label is positive where merit + 0.8 group + noise exceeds 0.4, with standard normal merit
    and noise; ``luck`` is normal and tells nothing.
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


def draw_two_groups(rows: int = 10_000, seed: int = 0) -> ClearRows:
    """Draw the rows of FairDP's appendix F: two groups that the label nearly tells apart.

    Four fifths of one group are positive and four fifths of the other negative; each has half of
    the rows. Twelve numbers are normal with mean 1 for positive rows and -1 for negative ones. The
    paper names no covariance; with a standard deviation of 3.65, the best classifier has the ROC
    AUC of .91 that its Table 2 gives without privacy, and the difference of .41 between the groups,
    too.
    """
    rng = np.random.default_rng([seed, 0xFD])
    group = np.arange(rows, dtype=np.int64) % 2
    label = (rng.random(rows) < np.where(group == 1, 0.8, 0.2)).astype(np.int64)
    table = rng.normal(0, DEVIATION, (rows, FEATURES)) + (2 * label - 1)[:, None]
    scale = Scale(0.0, DEVIATION, (-1.0, -0.5, 0.0, 0.5, 1.0))
    names = [f"feature-{number}" for number in range(1, FEATURES + 1)]
    return ClearRows(
        "two-groups",
        dict(zip(names, table.T, strict=True)),
        dict.fromkeys(names, scale),
        {"group": group, "label": label},
        {"group": ("0", "1"), "label": ("0", "1")},
        "label",
        "group",
    )
