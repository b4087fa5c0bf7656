"""D_z = (X, Z_s, Y): one column per category, for records and clear rows.

A perturbed attribute contributes the indicator of its record's support (the paper's OHE and IVE)
or the posterior that the record leaves (:mod:`hushpoll_training.encodings.encoding`), an attribute
in clear its one-hot vector. Clear rows are one-hot throughout, which is the posterior of who knows
the answer, and fill the same columns, so that a model fitted to records is tested on the truth.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, vstack

from hushpoll_analysis.records.decode import check_records, indicator_matrix, one_hot
from hushpoll_shared.survey.published import Published
from hushpoll_training.encodings.encoding import Encoding, Priors, posterior

CELLS = 1 << 24
"""Indicators that are dense at a time: those of a million records never are all at once."""


@dataclass(frozen=True, slots=True)
class Features:
    """The columns that a survey gives a model, in manifest order, the target left out.

    Attributes
    ----------
    published : Published
        The survey.
    attributes : tuple of str
        Names of the attributes that are features.
    names : tuple of str
        ``attribute=category`` per column.
    priors : mapping of str to tuple of float, or None
        Of each perturbed attribute, for the posterior encoding; None for indicators.
    """

    published: Published
    attributes: tuple[str, ...]
    names: tuple[str, ...]
    priors: Priors | None = None

    @classmethod
    def of(cls, published: Published, priors: Priors | None = None) -> Features:
        """Return the features of a survey: indicators, or posteriors under the given priors."""
        used = [one for one in published.attributes if one.role != "target"]
        return cls(
            published,
            tuple(one.name for one in used),
            tuple(f"{one.name}={category}" for one in used for category in one.domain),
            priors,
        )

    @property
    def encoding(self) -> Encoding:
        """How records become features."""
        return "indicator" if self.priors is None else "posterior"

    def without(self, name: str) -> Features:
        """Return these features less one attribute."""
        used = tuple(one for one in self.attributes if one != name)
        names = tuple(
            f"{one}={category}" for one in used for category in self.published.attribute(one).domain
        )
        return replace(self, attributes=used, names=names)

    @property
    def safe_names(self) -> tuple[str, ...]:
        """Names for LightGBM, which refuses JSON's special characters and blanks.

        The number keeps them apart where the substitution would not; it is the column's place.
        """
        return tuple(
            f"f{place}_{re.sub('[^0-9A-Za-z_.-]', '_', name)}"
            for place, name in enumerate(self.names)
        )

    def from_records(self, records: npt.NDArray[np.uint8]) -> csr_matrix:
        """Encode records, uint8[n, L], as float32[n, columns]."""
        check_records(self.published, records)

        def block(start: int, stop: int) -> list[npt.NDArray[Any]]:
            return [self._part(records[start:stop], name) for name in self.attributes]

        return self._encode(len(records), block)

    def from_codes(self, codes: Mapping[str, npt.NDArray[np.int64]]) -> csr_matrix:
        """Encode clear rows, given as codes in [0, k) per attribute, as float32[n, columns]."""
        sizes = {name: self.published.attribute(name).k for name in self.attributes}

        def block(start: int, stop: int) -> list[npt.NDArray[Any]]:
            return [one_hot(codes[name][start:stop], k) for name, k in sizes.items()]

        return self._encode(len(codes[self.attributes[0]]), block)

    def _part(self, records: npt.NDArray[np.uint8], name: str) -> npt.NDArray[Any]:
        attribute = self.published.attribute(name)
        found = indicator_matrix(self.published, records, attribute)
        if self.priors is None or attribute.oracle is None:
            return found
        return posterior(found, attribute.oracle, self.priors[name])

    def _encode(self, n: int, block: Callable[[int, int], list[npt.NDArray[Any]]]) -> csr_matrix:
        rows = max(1, CELLS // len(self.names))
        parts = [
            csr_matrix(np.concatenate(block(start, start + rows), axis=1), dtype=np.float32)
            for start in range(0, n, rows)
        ]
        if not parts:
            return csr_matrix((0, len(self.names)), dtype=np.float32)
        return parts[0] if len(parts) == 1 else vstack(parts, format="csr")
