"""The rows of FairDP's appendix F: two groups that the label nearly tells apart.

Four fifths of one group are positive and four fifths of the other negative. Twelve numbers are
normal with mean 1 for positive rows and -1 for negative ones. The paper names no covariance; with a
standard deviation of 3.65, the best classifier has the ROC AUC of .91 that its Table 2 gives
without privacy, and the difference of .41 between the groups, too.
"""

from __future__ import annotations

import numpy as np

from hushpoll_lab.datasets.clear.rows import ClearRows, Scale

FEATURES = 12
DEVIATION = 3.65


def draw(rows: int = 10_000, seed: int = 0) -> ClearRows:
    """Draw rows; each group has half of them.

    Parameters
    ----------
    rows : int
        At least 2.
    seed : int
        What rows are drawn by.
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
