"""The grid of protocols, splits and epsilons, as the engine runs it, and the data that it reads."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import metadata
from typing import Final

from hushpoll_lab.experiments.configuration import REFERENCE, Experiment
from hushpoll_lab.experiments.grid import Task, draft, publish, run_task, tasks
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.spelling.text import show
from hushpoll_training.data.coded import attribute_name, read_codes
from hushpoll_training.data.rows import read_rows
from hushpoll_training.learners.learner import Learner
from hushpoll_training.models.model import Codes, count_rows

REFERENCE_PACKAGES: Final = ("multi-freq-ldpy", "numba", "xxhash")
"""Packages that only the reference engine's results depend on."""


@dataclass(frozen=True, slots=True)
class ProtocolGrid:
    """Cells of a protocol, a split, an epsilon and a seed; see :class:`~.kinds.Grid`."""

    experiment: Experiment

    def cells(self) -> list[Task]:
        """Return every cell."""
        return tasks(self.experiment)

    def learners(self) -> tuple[Learner, ...]:
        """Return the one learner."""
        return (self.experiment.recipe.learner,)

    def read(self) -> Codes:
        """Read the rows, and refuse columns that are not there."""
        for learner in self.learners():
            learner.require_extra()
        codes = read_data(self.experiment)
        check_columns(self.experiment, codes)
        if self.experiment.engine == REFERENCE:
            # Its packages belong to another extra, and some versions give wrong results.
            from hushpoll_lab.experiments.reference import check_clients

            check_clients()
        return codes

    def describe(self, data: Codes) -> JsonMembers:
        """Return what results depend on."""
        return describe(self.experiment, data)

    def run(self, data: Codes, cell: Task) -> JsonMembers:
        """Run one cell."""
        return run_task(self.experiment, data, cell)


def read_data(experiment: Experiment) -> Codes:
    """Read the rows as codes, int64[n] by attribute."""
    manifest = experiment.manifest
    if manifest is None:
        return read_codes(experiment.data, ignored=experiment.ignore)
    if not experiment.coded:
        return read_rows(experiment.data, manifest.resolve(), ignored=experiment.ignore)
    codes = read_codes(experiment.data, ignored=experiment.ignore)
    return _in_domains(experiment, manifest, codes)


def _in_domains(experiment: Experiment, manifest: Manifest, codes: Codes) -> Codes:
    sizes = {attribute.name: attribute.k for attribute in manifest.attributes}
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


def describe(experiment: Experiment, codes: Codes) -> JsonMembers:
    """Return what results depend on: settings, the data's content, versions of what computes."""
    content = hashlib.sha256(experiment.data.read_bytes()).hexdigest()
    used = experiment.recipe.learner.versions()
    # Python's own version changes no result, and changes often.
    del used["python"]
    if experiment.engine == REFERENCE:
        used |= {name: metadata.version(name) for name in REFERENCE_PACKAGES}
    return {
        "kind": "experiment",
        "configuration": experiment.settings(),
        "data": {"rows": count_rows(codes), "columns": list(codes), "sha256": content},
        "versions": used,
    }


def check_columns(experiment: Experiment, codes: Codes) -> None:
    """Refuse a configuration whose columns the data does not have, or that makes no survey."""
    if experiment.manifest is not None:
        # Its domains are declared, so the data need not hold every category.
        publish(experiment, codes, tasks(experiment)[-1])
        return
    for column in experiment.sensitive:
        if attribute_name(column) not in codes:
            raise InvalidParameter(
                f"sensitive names {column!r}, which is no column of {experiment.data}; the columns "
                f"are {', '.join(codes)}",
                field="sensitive",
            )
    for name, values in codes.items():
        if not values.any():
            raise InvalidParameter(
                f"column {name} of {experiment.data} holds code 0 alone, so it tells nothing; name "
                "it in ignore",
                field="ignore",
            )
    cell = Task(
        experiment.protocols[0], experiment.splits[0], experiment.epsilons[-1], experiment.seeds[0]
    )
    draft(experiment, codes, cell, experiment.sensitive)
