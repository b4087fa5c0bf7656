"""The files that `hushpoll train` is given, read and checked before anything is fitted."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hushpoll_shared.spelling.text import NAME_LENGTH
from hushpoll_shared.survey.manifest import load_manifest
from hushpoll_shared.survey.published import Published
from hushpoll_training.data.coded import attribute_name, describe_codes, read_codes
from hushpoll_training.data.rows import read_rows
from hushpoll_training.runs.simulation import override


def read_described(
    data: Path,
    manifest: Path,
    *,
    protocol: str | None,
    split: str | None,
    epsilon: str | None,
    ignored: Collection[str] = (),
) -> tuple[Published, dict[str, npt.NDArray[np.int64]]]:
    """Read clear rows in the terms of a manifest; the options override it."""
    draft = override(load_manifest(manifest), protocol=protocol, split=split, epsilon=epsilon)
    published = draft.resolve()
    return published, read_rows(data, published, ignored=ignored)


def read_coded_data(
    data: Path,
    *,
    target: str,
    protected: str,
    sensitive: Sequence[str],
    protocol: str,
    split: str,
    epsilon: str,
    ignored: Collection[str] = (),
) -> tuple[Published, dict[str, npt.NDArray[np.int64]]]:
    """Read a file of codes and give it a manifest; columns are named as in the file."""
    codes = read_codes(data, ignored=ignored)
    published = describe_codes(
        codes,
        name=attribute_name(data.stem)[:NAME_LENGTH],
        target=attribute_name(target),
        protected=attribute_name(protected),
        sensitive=[attribute_name(one) for one in sensitive],
        protocol=protocol,
        split=split,
        epsilon=epsilon,
    ).resolve()
    return published, codes
