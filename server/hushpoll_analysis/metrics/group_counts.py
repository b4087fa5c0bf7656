"""The four counts of each group: all that its rates, and their resampling, need of the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.group_metrics import Rate


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """Rows per group by label and prediction."""

    cells: npt.NDArray[np.int64]
    """int64[..., groups, 4]: true negatives, false positives, false negatives, true positives.
    Leading axes, where there are any, are separate samples."""

    @classmethod
    def of(
        cls,
        label: npt.ArrayLike,
        predicted: npt.ArrayLike,
        group: npt.NDArray[np.int64],
        groups: int,
    ) -> GroupCounts:
        """Count rows by class, 0 or 1, and by group int64[n], where -1 is in none."""
        arrays = {"label": np.asarray(label), "predicted": np.asarray(predicted)}
        for name, values in arrays.items():
            if values.shape != group.shape or not np.isin(values, (0, 1)).all():
                raise InvalidParameter(
                    f"{name} must be {len(group)} values, 0 or 1, one per row; got shape "
                    f"{values.shape}",
                    field=name,
                )
        inside = group >= 0
        code = 4 * group + 2 * arrays["label"] + arrays["predicted"]
        cells = np.bincount(code[inside].astype(np.int64), minlength=4 * groups)
        return cls(cells.reshape(groups, 4))

    @property
    def n(self) -> npt.NDArray[np.int64]:
        """Rows per group, int64[..., groups]."""
        return np.asarray(self.cells.sum(axis=-1))

    def hits(self, rate: Rate) -> npt.NDArray[np.int64]:
        """Return the numerator of a rate per group."""
        return np.asarray(self.cells @ np.array(rate.hits))

    def rows(self, rate: Rate) -> npt.NDArray[np.int64]:
        """Return the denominator of a rate per group."""
        return np.asarray(self.cells @ np.array(rate.rows))

    def rate(self, rate: Rate) -> npt.NDArray[np.float64]:
        """Return a rate per group, nan where a group has no row that it could be a share of."""
        rows = self.rows(rate)
        return np.asarray(np.where(rows > 0, self.hits(rate) / np.maximum(rows, 1), np.nan))
