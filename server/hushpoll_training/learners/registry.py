"""The learners by name, as commands, configurations and saved models choose them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.learners.central.dpsgd import DPSGD
from hushpoll_training.learners.central.dpsgd_f import GroupClippingSgd
from hushpoll_training.learners.central.fairdp import FairDP
from hushpoll_training.learners.central.fairfm import FairFM
from hushpoll_training.learners.central.fermi import Fermi
from hushpoll_training.learners.central.functional import FunctionalMechanism
from hushpoll_training.learners.central.output_perturbation import OutputPerturbation
from hushpoll_training.learners.central.penalised_sgd import PenalisedSgd
from hushpoll_training.learners.learner import Learner
from hushpoll_training.learners.lightgbm import LightGBM
from hushpoll_training.learners.wrapped import wrapping
from hushpoll_training.mitigation.reweighed_learner import ReweighedLearner
from hushpoll_training.mitigation.threshold_learner import ThresholdLearner
from hushpoll_training.postprocessing.parity_learner import ParityLearner
from hushpoll_training.postprocessing.smoothed_learner import SmoothedDPSGD, SmoothedLogistic

LEARNERS: Final[Mapping[str, type[Learner]]] = {
    "lightgbm": LightGBM,
    "output-perturbation": OutputPerturbation,
    "functional-mechanism": FunctionalMechanism,
    "fairfm": FairFM,
    "dpsgd": DPSGD,
    "penalised-dpsgd": PenalisedSgd,
    "dpsgd-f": GroupClippingSgd,
    "fairdp": FairDP,
    "dp-fermi": Fermi,
    "smoothed-logistic": SmoothedLogistic,
    "smoothed-dpsgd": SmoothedDPSGD,
    "lightgbm-parity": wrapping(ParityLearner, LightGBM),
    "output-perturbation-parity": wrapping(ParityLearner, OutputPerturbation),
    "dpsgd-parity": wrapping(ParityLearner, DPSGD),
    "lightgbm-reweighed": wrapping(ReweighedLearner, LightGBM),
    "lightgbm-thresholds": wrapping(ThresholdLearner, LightGBM),
}

DEFAULT: Final = "lightgbm"
"""Also the learner of models and records that were saved before learners had names."""


def meant(name: str) -> str:
    """Return which learner may be meant by a name that is none, as the start of a remedy."""
    like = difflib.get_close_matches(name, LEARNERS, n=1)
    return f"did you mean {like[0]}? Else " if like else ""


def create_learner(name: str = DEFAULT, parameters: Mapping[str, Any] | None = None) -> Learner:
    """Return a learner by its name, with its parameters.

    Raises
    ------
    InvalidParameter
        For another name, or a parameter that the learner refuses.
    """
    if name not in LEARNERS:
        raise InvalidParameter(
            f"learner is {name!r}; {meant(name)}it must be one of {', '.join(LEARNERS)}",
            field="learner",
        )
    return LEARNERS[name](parameters or {})
