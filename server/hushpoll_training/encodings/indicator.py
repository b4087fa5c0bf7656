"""The indicator of a record's support: the paper's one-hot and indicator-vector encodings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from hushpoll_shared.survey.attributes import PublishedAttribute
from hushpoll_shared.survey.published import Published
from hushpoll_training.encodings.encoding import Encoding, Features, feature_attributes


@dataclass(frozen=True)
class Indicator(Encoding):
    """1 for each category that the record supports, else 0."""

    name: ClassVar[str] = "indicator"
    description: ClassVar[str] = (
        "one column per category: whether the randomised record supports it"
    )

    def encode(
        self,
        attribute: PublishedAttribute,
        indicators: npt.NDArray[np.uint8],
        prior: tuple[float, ...] | None,
    ) -> npt.NDArray[np.uint8]:
        """Return the indicators as they are, uint8[n, k]."""
        del attribute, prior
        return indicators


def one_hot_features(published: Published) -> Features:
    """Return the features of clear rows: indicators, which need no records to be fitted to."""
    return Features(published, Indicator(), feature_attributes(published), {})
