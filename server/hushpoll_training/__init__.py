"""Training on randomised answers, and measuring what it costs in utility and fairness.

Collected records become indicator features (:class:`Features`), LightGBM is fitted to them
(:func:`fit_records`), and rows in clear test it (:func:`evaluate`), beside the NonDP baseline.
"""

from hushpoll_protocols.errors import MissingExtra

try:
    import lightgbm
    import pandas
    import sklearn
except ImportError as error:
    raise MissingExtra("train", "training") from error
except OSError as error:
    # The smallest systems lack what LightGBM's threads are made of; its wheel does not bring it.
    if "libgomp" not in str(error):
        raise
    raise MissingExtra("train", "training", library=("libgomp.so.1", "libgomp1")) from error

from hushpoll_training.audits.crossfit import cross_fit
from hushpoll_training.audits.external import external_predictions
from hushpoll_training.audits.records_fairness import RecordsFairness, fairness_of_records
from hushpoll_training.data.coded import describe_codes, read_codes
from hushpoll_training.data.rows import read_rows
from hushpoll_training.data.target import Target
from hushpoll_training.encodings.encoding import priors_for
from hushpoll_training.encodings.features import Features
from hushpoll_training.encodings.record_encoder import RecordEncoder
from hushpoll_training.evaluation.evaluation import Evaluation, cross_validate, evaluate
from hushpoll_training.evaluation.metric import Metric
from hushpoll_training.evaluation.metrics import FAIRNESS, GROUP_RATES, METRICS, UTILITY, measure
from hushpoll_training.learners.classifier import LDPClassifier
from hushpoll_training.learners.parameters import PARAMETERS, check_parameters
from hushpoll_training.models.model import Model, fit_clear, fit_records
from hushpoll_training.models.prediction import Predictions, predict_rows
from hushpoll_training.models.saved import load_model, save_model
from hushpoll_training.runs.cell import Cell, baseline_cell, cell
from hushpoll_training.runs.collected import train_collected
from hushpoll_training.runs.outcome import Outcome
from hushpoll_training.runs.record import run_record
from hushpoll_training.runs.simulation import override, train_simulated

del lightgbm, pandas, sklearn

__all__ = [
    "FAIRNESS",
    "GROUP_RATES",
    "METRICS",
    "PARAMETERS",
    "UTILITY",
    "Cell",
    "Evaluation",
    "Features",
    "LDPClassifier",
    "Metric",
    "Model",
    "Outcome",
    "Predictions",
    "RecordEncoder",
    "RecordsFairness",
    "Target",
    "baseline_cell",
    "cell",
    "check_parameters",
    "cross_fit",
    "cross_validate",
    "describe_codes",
    "evaluate",
    "external_predictions",
    "fairness_of_records",
    "fit_clear",
    "fit_records",
    "load_model",
    "measure",
    "override",
    "predict_rows",
    "priors_for",
    "read_codes",
    "read_rows",
    "run_record",
    "save_model",
    "train_collected",
    "train_simulated",
]
