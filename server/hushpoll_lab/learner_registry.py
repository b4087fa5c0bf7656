"""The laboratory's learners by name, which an entry point adds to those of training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hushpoll_lab.learners.dpsgd import DPSGD, GroupClippingSgd
from hushpoll_lab.learners.fairdp import FairDP
from hushpoll_lab.learners.fermi import Fermi
from hushpoll_lab.learners.functional import FairFM, FunctionalMechanism
from hushpoll_lab.learners.output_perturbation import OutputPerturbation
from hushpoll_lab.learners.penalised_sgd import PenalisedSgd
from hushpoll_lab.postprocessing.parity import ParityLearner
from hushpoll_lab.postprocessing.smoothed_learner import SmoothedDPSGD, SmoothedLogistic
from hushpoll_training.learners.learner import Learner
from hushpoll_training.learners.lightgbm import LightGBM
from hushpoll_training.learners.wrapped import wrapping

LEARNERS: Final[Mapping[str, type[Learner]]] = {
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
}
