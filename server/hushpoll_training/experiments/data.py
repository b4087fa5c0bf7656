"""The data of an experiment: codes of a file without a manifest, or rows in a manifest's terms."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.manifest import Manifest
from hushpoll_training.data.coded import read_codes
from hushpoll_training.data.rows import read_rows
from hushpoll_training.experiments.configuration import Experiment


def read_data(experiment: Experiment) -> dict[str, npt.NDArray[np.int64]]:
    """Read the rows as codes, int64[n] by attribute.

    Raises
    ------
    InvalidParameter
        Naming file, row, column and value of what does not fit.
    OSError
        If the file cannot be read.
    """
    manifest = experiment.manifest
    if manifest is None:
        return read_codes(experiment.data, ignored=experiment.ignore)
    if not experiment.coded:
        return read_rows(experiment.data, manifest.resolve(), ignored=experiment.ignore)
    codes = read_codes(experiment.data, ignored=experiment.ignore)
    return _in_domains(experiment, manifest, codes)


def _in_domains(
    experiment: Experiment, manifest: Manifest, codes: dict[str, npt.NDArray[np.int64]]
) -> dict[str, npt.NDArray[np.int64]]:
    sizes = {one.name: one.k for one in manifest.attributes}
    for name in codes:
        if name not in sizes:
            raise InvalidParameter(
                f"{experiment.data} has the column {show(name)}, which {manifest.name} does not "
                f"ask; ignore it. The attributes are {', '.join(sizes)}",
                field="data",
            )
    for name, k in sizes.items():
        if name not in codes:
            raise InvalidParameter(
                f"{experiment.data} has no column {name}, which {manifest.name} asks; add it. The "
                f"columns are {', '.join(codes)}",
                field="data",
            )
        if codes[name].max() >= k:
            row = int(codes[name].argmax())
            raise InvalidParameter(
                f"{experiment.data} row {row + 1}, column {name}: {codes[name][row]} is no code in "
                f"[0, {k - 1}], the domain that {manifest.name} gives it",
                field="data",
            )
    return {name: codes[name] for name in sizes}
