"""Pinned models: what is trained on records, saved, loaded, and audited with them.

``saved/`` holds two models as they were saved when the values were made. They must load, and give
the same scores, in every later version.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from pinned import entry_points
from pinned.entry_points import hushpoll
from pinned.summaries import digest, digest_of_bytes, facts, scores
from pinned.survey import draft, people, write_people

ENCODINGS = ("indicator", "posterior")
SAVED = Path(__file__).parent / "saved"
PARAMETERS = ("--params", "n_estimators=12", "--params", "num_leaves=7")
AUDIT_PARTS = ("expected", "shares", "metrics", "rates")


def parts() -> dict[str, Callable[[], dict[str, Any]]]:
    """Return what computes the values of each way to train and to audit."""
    found: dict[str, Callable[[], dict[str, Any]]] = {}
    for encoding in ENCODINGS:
        found[f"saved {encoding}"] = partial(_saved, encoding)
        found[f"trained {encoding}"] = partial(_trained, encoding)
        found[f"cross-fitted {encoding}"] = partial(_cross_fitted, encoding)
    found["simulated"] = _simulated
    found["predictions in clear"] = _predictions_in_clear
    return found


def save_models() -> None:
    """Train the models of ``saved/`` anew; done once, since they are to be old."""
    with TemporaryDirectory() as folder:
        files = _files(Path(folder))
        for encoding in ENCODINGS:
            _train(files, encoding, SAVED / encoding, "--overwrite")
            for page in (SAVED / encoding).glob("card.*"):
                page.unlink()


def _saved(encoding: str) -> dict[str, Any]:
    scored = entry_points.saved_scores(SAVED / encoding, people(1000, seed=31))
    with TemporaryDirectory() as folder:
        files = _files(Path(folder))
        rows = _predicted(files, SAVED / encoding)
    return {"learned": {"scores": scores(scored), "predict": rows}}


def _trained(encoding: str) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        files = _files(Path(folder))
        out = Path(folder) / "model"
        _train(files, encoding, out)
        declared = ("--unseen", "--protected-input", "each-value")
        return {
            "records": digest_of_bytes(files["records"].read_bytes()),
            "learned": {
                "trees": _trees(out),
                "run": _run(out),
                "predict": _predicted(files, out),
                "fairness": _fairness("model", out, files["other-records"], *declared),
            },
        }


def _cross_fitted(encoding: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with TemporaryDirectory() as folder:
        files = _files(Path(folder))
        for protected in ("dropped", "each-value"):
            options = (*PARAMETERS, "--encoding", encoding, "--protected-input", protected)
            found[protected] = _fairness(
                "records", files["records"], *options, "--folds", 4, "--seed", 2
            )
        if encoding == "indicator":
            options = (*PARAMETERS, "--groups", "region", "--reference", "region-0")
            text = hushpoll("fairness", "records", files["records"], *options, "--json")
            found["regions"] = [
                {part: facts(one[part]) for part in AUDIT_PARTS}
                for one in json.loads(text)["groups"]
            ]
    survey = entry_points.published(draft())
    records = entry_points.encode(survey, people(), np.random.default_rng(32))
    predictions = entry_points.cross_fitted(survey, records, {"n_estimators": 12}, encoding)
    found["predictions"] = digest(predictions.predicted.astype(np.uint8))
    return {"learned": found}


def _simulated() -> dict[str, Any]:
    """Train on a part of the answers in clear, perturbed, and test on the rest."""
    found: dict[str, Any] = {}
    with TemporaryDirectory() as folder:
        files = _files(Path(folder))
        for protocol, split in (("SS", "k-based"), ("GRR", "uniform"), ("OLH", "optimal")):
            out = Path(folder) / protocol
            options = ("--protocol", protocol, "--split", split, "--epsilon", "5", "--seed", 4)
            source = ("--data", files["panel"], "--manifest", files["manifest"])
            hushpoll("train", *source, *options, *PARAMETERS, "--groups", "region", "--out", out)
            found[protocol] = {"trees": _trees(out), "run": _run(out)}
    return {"learned": found}


def _predictions_in_clear() -> dict[str, Any]:
    """Fairness of given labels and predictions, with bootstrapped intervals."""
    codes = people(2500, seed=33)
    drawn = np.random.default_rng(34).random(2500)
    predicted = (drawn < 0.2 + 0.3 * codes["income"] + 0.1 * (codes["gender"] == 1)).astype(int)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "predictions.csv"
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(("label", "predicted", "gender", "job"))
            columns = (codes["income"], predicted, codes["gender"], codes["job"])
            writer.writerows(zip(*(column.tolist() for column in columns), strict=True))
        options = ("--groups", "gender", "--groups", "gender,job", "--seed", 5, "--resamples", 500)
        report = json.loads(hushpoll("fairness", "predictions", path, *options, "--json"))
    # the interpreter and the libraries that made it, which the file of values names by itself
    del report["versions"]
    return facts(report)


def _files(folder: Path) -> dict[str, Path]:
    """Write the files that the commands read; return their paths."""
    manifest = draft(protocol="SS")
    survey = entry_points.published(manifest)
    paths = {name: folder / name for name in ("records", "other-records")}
    for number, path in enumerate(paths.values()):
        codes = people(seed=40 + number)
        records = entry_points.encode(survey, codes, np.random.default_rng(50 + number))
        path.write_bytes(entry_points.records_file(survey, records))
    paths["panel"] = write_people(
        folder / "panel.csv", entry_points.domains(survey), people(1500, seed=45)
    )
    paths["manifest"] = folder / "survey.json"
    paths["manifest"].write_text(json.dumps(manifest), encoding="utf-8")
    return paths


def _train(files: dict[str, Path], encoding: str, out: Path, *options: object) -> None:
    source = ("--records", files["records"], "--panel", files["panel"])
    hushpoll(
        "train", *source, *PARAMETERS, "--encoding", encoding, "--seed", 6, "--out", out, *options
    )


def _trees(model: Path) -> dict[str, Any]:
    text = (model / "model.txt").read_text(encoding="latin-1")
    return digest_of_bytes(entry_points.trees_of_text(text).encode())


def _run(model: Path) -> Any:
    run = json.loads((model / "run.json").read_text(encoding="utf-8"))
    kept = ("rows", "target", "ldp", "baseline", "intervals", "fairness")
    return {name: facts(run[name]) for name in kept}


def _predicted(files: dict[str, Path], model: Path) -> dict[str, Any]:
    """Return what ``hushpoll predict`` writes about the panel."""
    out = files["panel"].parent / "predictions.csv"
    printed: dict[str, Any] = json.loads(
        hushpoll("predict", "--model", model, "--data", files["panel"], "--out", out, "--json")
    )
    del printed["out"]
    content = out.read_bytes()
    out.unlink()
    first = content.decode().splitlines()[1:4]
    return {
        "sha256": hashlib.sha256(content).hexdigest(),
        "first": first,
        "measured": facts(printed),
    }


def _fairness(*arguments: object) -> Any:
    found = json.loads(hushpoll("fairness", *arguments, "--json"))
    return {part: facts(found[part]) for part in AUDIT_PARTS}
