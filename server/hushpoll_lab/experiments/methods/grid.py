"""The cells of an experiment on methods, as the engine runs them."""

from __future__ import annotations

from dataclasses import dataclass

from hushpoll_lab.datasets.clear.rows import ClearRows
from hushpoll_lab.experiments.methods.configuration import MethodsExperiment
from hushpoll_lab.experiments.methods.run import publish, run_trial
from hushpoll_lab.experiments.methods.trial import Trial
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_training.learners.learner import Learner


@dataclass(frozen=True, slots=True)
class MethodGrid:
    """Cells of a method and a seed; see :class:`~hushpoll_lab.experiments.kinds.Grid`.

    Attributes
    ----------
    experiment : MethodsExperiment
        Their configuration.
    """

    experiment: MethodsExperiment

    def cells(self) -> list[Trial]:
        """Return every cell."""
        return self.experiment.trials()

    def learners(self) -> tuple[Learner, ...]:
        """Return the learner of each method."""
        return self.experiment.learners()

    def read(self) -> ClearRows:
        """Read the rows, and refuse a sensitive column or an epsilon that a survey would refuse."""
        for learner in self.learners():
            learner.require_extra()
        rows = self.experiment.source.load()
        for method in self.experiment.methods:
            if method.perturbed:
                publish(self.experiment, rows, method)
        return rows

    def describe(self, data: ClearRows) -> JsonMembers:
        """Return what results depend on."""
        used: dict[str, str] = {}
        for learner in self.learners():
            used |= learner.versions()
        # Python's own version changes no result, and changes often.
        del used["python"]
        return {
            "kind": "methods",
            "configuration": self.experiment.settings(),
            "data": {"rows": data.rows, "columns": list(data.columns), "sha256": data.digest()},
            "versions": used,
        }

    def run(self, data: ClearRows, cell: Trial) -> JsonMembers:
        """Run one cell."""
        return run_trial(self.experiment, data, cell)
