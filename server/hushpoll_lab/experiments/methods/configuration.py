"""The configuration of an experiment on rows in clear: a data set, seeds and methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hushpoll_lab.datasets.clear.registry import ClearSource, read_source
from hushpoll_lab.experiments import fields
from hushpoll_lab.experiments.methods.method import Method, Trial, read_methods
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.spelling.text import show
from hushpoll_training.data.coded import attribute_name
from hushpoll_training.learners.learner import Learner
from hushpoll_training.runs.cell import TEST_SIZE

_KEYS: Final = (
    *("name", "dataset", "data", "target", "protected", "sensitive", "ignore", "missing"),
    *("options", "seeds", "test_size", "methods"),
)


@dataclass(frozen=True, slots=True)
class MethodsExperiment:
    """A checked configuration."""

    name: str
    source: ClearSource
    sensitive: tuple[str, ...]
    """Columns that methods with a protocol perturb; the protected one by default."""
    seeds: tuple[int, ...]
    """Ascending. Rows are split anew for each."""
    test_size: float
    """Share of the rows to test on, in (0, 1)."""
    methods: tuple[Method, ...]

    @classmethod
    def from_dict(cls, given: Mapping[str, object]) -> MethodsExperiment:
        """Check a configuration; refuses keys that are not known or missing."""
        for key in given:
            if key not in _KEYS:
                raise InvalidParameter(
                    f"{show(key)} is no key of an experiment with methods; use {', '.join(_KEYS)}",
                    field=str(key),
                )
        for key in ("seeds", "methods"):
            if given.get(key) is None:
                raise InvalidParameter(f"{key} is missing; set it in the configuration", field=key)
        source = read_source(given)
        sensitive = given.get("sensitive")
        size = given.get("test_size")
        return cls(
            name=str(given.get("name") or source.name or attribute_name(str(source.data))),
            source=source,
            sensitive=() if not sensitive else tuple(
                map(attribute_name, fields.columns(sensitive, "sensitive"))
            ),
            seeds=fields.seeds(given["seeds"]),
            test_size=fields.share(TEST_SIZE if size is None else size),
            methods=read_methods(given["methods"]),
        )  # fmt: skip

    def trials(self) -> list[Trial]:
        """Return every cell: all methods of a seed, then those of the next one."""
        return [method.trial(seed) for seed in self.seeds for method in self.methods]

    def method(self, trial: Trial) -> Method:
        """Return the method that a cell is of."""
        return next(method for method in self.methods if method.trial(trial.seed) == trial)

    def learners(self) -> tuple[Learner, ...]:
        """Return the learner of each method."""
        return tuple(method.recipe.learner for method in self.methods)

    def settings(self) -> JsonMembers:
        """Return what results depend on, as JSON; the data counts by content, not by path."""
        return {
            "name": self.name,
            "dataset": self.source.name,
            "missing": self.source.missing,
            "options": dict(self.source.options),
            "sensitive": list(self.sensitive),
            "seeds": list(self.seeds),
            "test_size": self.test_size,
            "methods": [method.settings() for method in self.methods],
        }
