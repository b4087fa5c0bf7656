"""Learners around other learners: they change the rows of a fit, or the predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, TypeVar, cast

from hushpoll_training.learners.learner import Fitted, Learner
from hushpoll_training.learners.parameters import Parameter, Value


@dataclass(frozen=True)
class WrappedLearner(Learner):
    """A learner around another one, whose parameters it takes beside its own.

    A kind of wrapping is a subclass that an import finds; :func:`wrapping` makes the learner of a
    kind around each learner.
    """

    base: ClassVar[type[Learner]]
    """What is fitted."""
    kind: ClassVar[type[WrappedLearner]]
    suffix: ClassVar[str]
    """What its name adds to that of the learner behind."""
    addition: ClassVar[str]
    """What its label adds."""
    effect: ClassVar[str]
    """What its description adds."""
    own_bounds: ClassVar[Mapping[str, Parameter]]
    """Parameters beside those of the learner behind."""
    own_file: ClassVar[str]
    """The file of its models beside those of the learner behind."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how another process makes it: its class has no place to import from."""
        return _restored, (self.kind, self.base, dict(self.parameters))

    @property
    def behind(self) -> Learner:
        """The learner behind, with its parameters."""
        return self.base({name: self.parameters[name] for name in self.base.bounds})

    @property
    def steps(self) -> int:
        """Those of the learner behind."""
        return self.behind.steps

    def without_privacy(self) -> Learner:
        """Return the learner behind without noise, and without the wrapping: the NonDP baseline."""
        return self.behind.without_privacy()

    def load_behind(
        self, files: Mapping[str, bytes], names: tuple[str, ...], *, trial: bool
    ) -> Fitted:
        """Read the model of the learner behind; see :meth:`Learner.load`."""
        return self.behind.load({name: files[name] for name in self.base.files}, names, trial=trial)


Kind = TypeVar("Kind", bound=WrappedLearner)


@cache
def wrapping(kind: type[Kind], behind: type[Learner]) -> type[Kind]:
    """Return the learner of a kind of wrapping around another learner."""
    said = {
        "base": behind,
        "kind": kind,
        "name": f"{behind.name}-{kind.suffix}",
        "label": f"{behind.label} {kind.addition}",
        "description": f"{behind.description}; {kind.effect}",
        "bounds": {**behind.bounds, **kind.own_bounds},
        "refused": behind.refused,
        "space": behind.space,
        "progress_unit": behind.progress_unit,
        "takes_missing": behind.takes_missing,
        "files": (*behind.files, kind.own_file),
        "distributions": behind.distributions,
        "extra": behind.extra,
        "__doc__": kind.__doc__,
        "__module__": kind.__module__,
    }
    return cast(type[Kind], dataclass(frozen=True)(type(kind.__name__, (kind,), said)))


def _restored(
    kind: type[WrappedLearner], behind: type[Learner], parameters: Mapping[str, Value]
) -> WrappedLearner:
    learner: WrappedLearner = wrapping(kind, behind)(parameters)
    return learner
