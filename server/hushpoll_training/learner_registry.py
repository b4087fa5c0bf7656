"""The learners by name, as commands, configurations and saved models choose them.

Other distributions add theirs by an entry point of the group `GROUP`: a mapping like `BUILT_IN`.
The laboratory, `hushpoll-lab`, has those of central differential privacy.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.learners.learner import Learner
from hushpoll_training.learners.lightgbm import LightGBM
from hushpoll_training.learners.wrapped import wrapping
from hushpoll_training.mitigation.reweighed_learner import ReweighedLearner
from hushpoll_training.mitigation.threshold_learner import ThresholdLearner

GROUP: Final = "hushpoll.learners"

BUILT_IN: Final[Mapping[str, type[Learner]]] = {
    "lightgbm": LightGBM,
    "lightgbm-reweighed": wrapping(ReweighedLearner, LightGBM),
    "lightgbm-thresholds": wrapping(ThresholdLearner, LightGBM),
}

DEFAULT: Final = "lightgbm"
"""Also the learner of models and records that were saved before learners had names."""


class InstalledLearners(Mapping[str, type[Learner]]):
    """The learners of all installed distributions by name, our own first.

    Entry points are loaded when it is first read, since what they load imports this package. Two
    distributions with a learner of the same name are refused then.
    """

    def __getitem__(self, name: str) -> type[Learner]:
        return _installed()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_installed())

    def __len__(self) -> int:
        return len(_installed())


LEARNERS: Final[Mapping[str, type[Learner]]] = InstalledLearners()
"""Every learner that there is."""


@cache
def _installed() -> Mapping[str, type[Learner]]:
    found = dict(BUILT_IN)
    for point in sorted(entry_points(group=GROUP), key=lambda one: one.name):
        learners: Mapping[str, type[Learner]] = point.load()
        for name, learner in learners.items():
            if name in found:
                raise ValueError(
                    f"the entry point {point.value} has a learner {name!r}, which there is "
                    "already; rename it, or uninstall one of the distributions"
                )
            found[name] = learner
    return found


def meant(name: str) -> str:
    """Return which learner may be meant by a name that is none, as the start of a remedy."""
    like = difflib.get_close_matches(name, LEARNERS, n=1)
    return f"did you mean {like[0]}? Else " if like else ""


def more_learners() -> str:
    """Return where there are further learners, as the end of a remedy; empty if all are here."""
    if len(LEARNERS) > len(BUILT_IN):
        return ""
    return (
        "; those of central differential privacy come with hushpoll-lab: in the folder of a "
        "checkout, pip install . ./server ./server/lab"
    )


def create_learner(name: str = DEFAULT, parameters: Mapping[str, Any] | None = None) -> Learner:
    """Return a learner by its name, with its parameters.

    Raises
    ------
    InvalidParameter
        For another name, or a parameter that the learner refuses.
    """
    if name not in LEARNERS:
        raise InvalidParameter(
            f"learner is {name!r}; {meant(name)}it must be one of {', '.join(LEARNERS)}"
            f"{more_learners()}",
            field="learner",
        )
    return LEARNERS[name](parameters or {})
