"""The public names of training, and what happens without what it stands on."""

import subprocess
import sys

import pytest

import hushpoll_training

PUBLIC = {
    "ENCODINGS",
    "LEARNERS",
    "Encoding",
    "FitOptions",
    "Learner",
    "PrivacyClaim",
    "Recipe",
    "create_encoding",
    "create_learner",
    "Cell",
    "Evaluation",
    "FAIRNESS",
    "Features",
    "GROUP_RATES",
    "Grouping",
    "LDPClassifier",
    "METRICS",
    "Metric",
    "Model",
    "TrainingRun",
    "Predictions",
    "RecordEncoder",
    "RecordsFairness",
    "ReportLaw",
    "ReweighingClassifier",
    "Target",
    "ThresholdClassifier",
    "UTILITY",
    "baseline_cell",
    "cell",
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
}


def test_the_public_names_are_these():
    assert set(hushpoll_training.__all__) == PUBLIC
    assert len(hushpoll_training.__all__) == len(PUBLIC)
    for name in PUBLIC:
        found = getattr(hushpoll_training, name)
        assert name.isupper() or found.__module__.startswith("hushpoll_training.")


@pytest.mark.parametrize("absent", ["lightgbm", "sklearn"])
def test_without_the_extra_the_command_names_it(absent):
    program = (
        f"import sys; sys.modules[{absent!r}] = None; "
        "from hushpoll_client.cli.commandline import main; main(['train'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 3
    assert "pip install . './server[train]'" in done.stderr
    assert "Traceback" not in done.stderr
