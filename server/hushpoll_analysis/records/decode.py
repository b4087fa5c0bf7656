"""Records to indicator matrices: the one homogeneous encoding that everything downstream reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.channel import Channel
from hushpoll_protocols.errors import InvalidParameter, MalformedRecord
from hushpoll_protocols.kernels import indicators
from hushpoll_shared.survey.attributes import PublishedAttribute
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.batch import codes, column

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Decoded:
    """What records say, one 0/1 column per category.

    Attributes
    ----------
    published : Published
        The survey that the records belong to.
    indicators : mapping of str to uint8[n, k]
        Per attribute, in manifest order: the support of each record of a perturbed attribute, the
        one-hot answer of one in clear.
    n : int
        Rows.
    """

    published: Published
    indicators: Mapping[str, npt.NDArray[np.uint8]]
    n: int

    def frame(self) -> pd.DataFrame:
        """Return a frame of uint8 columns named ``attribute=category``, in manifest order."""
        import pandas as pd  # slow to import, and a server needs no frame

        names = [
            f"{name}={category}"
            for name in self.indicators
            for category in self.published.attribute(name).domain
        ]
        return pd.DataFrame(np.concatenate(list(self.indicators.values()), axis=1), columns=names)


def decode(published: Published, records: npt.NDArray[np.uint8]) -> Decoded:
    """Decode well-formed records.

    Parameters
    ----------
    published : Published
        The survey that the records belong to.
    records : uint8[n, L]
        As they were accepted; the collection refuses malformed ones.

    Raises
    ------
    InvalidParameter
        If the array has another shape or type than the survey's records.
    MalformedRecord
        If a row is malformed.
    """
    check_records(published, records)
    return Decoded(
        published,
        {one.name: indicator_matrix(published, records, one) for one in published.attributes},
        records.shape[0],
    )


def debiased(decoded: Decoded, name: str) -> npt.NDArray[np.float64]:
    """Return D, f64[n, k], of one attribute: its expectation given the truth is the one-hot truth.

    Raises
    ------
    InvalidParameter
        If the survey has no such attribute; the message lists those that it has.
    """
    oracle = decoded.published.attribute(name).oracle
    return Channel.of(oracle).debias(decoded.indicators[name])


def indicator_matrix(
    published: Published, records: npt.NDArray[np.uint8], attribute: PublishedAttribute
) -> npt.NDArray[np.uint8]:
    """Return the indicators uint8[n, k] of one attribute of checked records."""
    if attribute.oracle is None:
        return one_hot(clear_codes(published, records, attribute), attribute.k)
    return indicators(attribute.oracle, column(published.layout, records, attribute.name))


def clear_codes(
    published: Published, records: npt.NDArray[np.uint8], attribute: PublishedAttribute
) -> npt.NDArray[np.int64]:
    """Return the codes int64[n], in [0, k), of an attribute in clear.

    Raises
    ------
    MalformedRecord
        If a code is outside the domain; the kernels refuse the other malformed records likewise.
    """
    found = codes(published.layout, records, attribute.name)
    outside = found >= attribute.k
    if outside.any():
        raise MalformedRecord(
            f"records[{int(outside.argmax())}] has a code of {attribute.name} outside "
            f"[0, {attribute.k - 1}]; export the records again, or drop the rows that "
            "malformed_many names",
            reason="range",
            field=attribute.name,
        )
    return found


def one_hot(values: npt.NDArray[np.int64], k: int) -> npt.NDArray[np.uint8]:
    """Return uint8[n, k] with a single 1 per row, at its code in [0, k)."""
    matrix = np.zeros((len(values), k), dtype=np.uint8)
    matrix[np.arange(len(values)), values] = 1
    return matrix


def check_records(published: Published, records: npt.NDArray[np.uint8]) -> None:
    """Refuse anything but a uint8 matrix of the survey's record length.

    Raises
    ------
    InvalidParameter
        Naming the shape that was given and the one that is needed.
    """
    length = published.layout.record_size
    shape, kind = getattr(records, "shape", None), getattr(records, "dtype", None)
    if kind != np.uint8 or shape is None or len(shape) != 2 or shape[1] != length:
        raise InvalidParameter(
            f"records are {kind} of shape {shape}; the survey {published.name} version "
            f"{published.version} needs uint8 of shape (n, {length}): read them with read_records",
            field="records",
        )
