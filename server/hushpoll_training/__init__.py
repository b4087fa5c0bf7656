"""Training on randomised answers, and measuring what it costs in utility and fairness.

Collected records become features (:class:`Features`), a learner is fitted to them
(:func:`fit_records`), and rows in clear test it (:func:`evaluate`), beside the NonDP baseline.
"""

import hushpoll_training.learners.installed  # noqa: F401  it must come before what it checks for
from hushpoll_training.audits.predictions import cross_fit, external_predictions
from hushpoll_training.audits.records_fairness import (
    RecordsFairness,
    fairness_of_model,
    fairness_of_records,
)
from hushpoll_training.data.coded import describe_codes, override, read_codes
from hushpoll_training.data.rows import read_rows
from hushpoll_training.data.target import Target
from hushpoll_training.encodings.encoding import Encoding, Features
from hushpoll_training.encodings.registry import ENCODINGS, create_encoding
from hushpoll_training.estimators.classifier import LDPClassifier
from hushpoll_training.estimators.record_encoder import RecordEncoder
from hushpoll_training.estimators.reweighing_classifier import ReweighingClassifier
from hushpoll_training.estimators.threshold_classifier import ThresholdClassifier
from hushpoll_training.evaluation.evaluation import Evaluation, cross_validate, evaluate
from hushpoll_training.evaluation.metrics import (
    FAIRNESS,
    GROUP_RATES,
    METRICS,
    UTILITY,
    Metric,
    measure,
)
from hushpoll_training.evaluation.prediction import Predictions, predict_rows
from hushpoll_training.learner_registry import LEARNERS, create_learner
from hushpoll_training.learners.claim import PrivacyClaim
from hushpoll_training.learners.grouping import Grouping
from hushpoll_training.learners.learner import FitOptions, Learner
from hushpoll_training.mitigation.report_law import ReportLaw, scaled_tolerance
from hushpoll_training.models.model import Model, fit_clear, fit_records
from hushpoll_training.models.recipe import Recipe
from hushpoll_training.runs.cell import Cell, baseline_cell, cell
from hushpoll_training.runs.record import run_record
from hushpoll_training.runs.saved import load_model, save_model
from hushpoll_training.runs.training_run import TrainingRun, train_collected, train_simulated

__all__ = [
    "ENCODINGS",
    "FAIRNESS",
    "GROUP_RATES",
    "LEARNERS",
    "METRICS",
    "UTILITY",
    "Cell",
    "Encoding",
    "Evaluation",
    "Features",
    "FitOptions",
    "Grouping",
    "LDPClassifier",
    "Learner",
    "Metric",
    "Model",
    "Predictions",
    "PrivacyClaim",
    "Recipe",
    "RecordEncoder",
    "RecordsFairness",
    "ReportLaw",
    "ReweighingClassifier",
    "Target",
    "ThresholdClassifier",
    "TrainingRun",
    "baseline_cell",
    "cell",
    "create_encoding",
    "create_learner",
    "cross_fit",
    "cross_validate",
    "describe_codes",
    "evaluate",
    "external_predictions",
    "fairness_of_model",
    "fairness_of_records",
    "fit_clear",
    "fit_records",
    "load_model",
    "measure",
    "override",
    "predict_rows",
    "read_codes",
    "read_rows",
    "run_record",
    "save_model",
    "scaled_tolerance",
    "train_collected",
    "train_simulated",
]
