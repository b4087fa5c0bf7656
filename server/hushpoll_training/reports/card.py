"""A model card: a model, its data, its utility, its fairness and its limits.

After Mitchell et al., "Model Cards for Model Reporting" (FAT* 2019). The card is a function of the
run's record alone, so that it can be made again for any model that was saved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject
from hushpoll_training.encodings.registry import ENCODINGS
from hushpoll_training.evaluation.documents import LimitsDocument, ReportDocument, RunRecord
from hushpoll_training.evaluation.fairness.partition import BY_MANIFEST
from hushpoll_training.evaluation.metrics import FAIRNESS, UTILITY
from hushpoll_training.learner_registry import DEFAULT, LEARNERS
from hushpoll_training.learners.claim import PrivacyClaim, privacy_sentence
from hushpoll_training.reports.protection import protections

FORMAT: Final = 1

MITIGATED: Final = (
    "Mitigation worked with estimated rates of the groups. What it leaves of a disparity is larger "
    "in one training and smaller in another, and of either sign, so that a mean over trainings can "
    "be near 0 although each model keeps some. Where a group is small and epsilon low, a model can "
    "keep half of the disparity; measure this one."
)


def model_card(record: RunRecord) -> dict[str, Any]:
    """Return the card of a run, as JSON."""
    manifest, target, survey = record["manifest"], record["target"], record["survey"]
    return {
        "format": FORMAT,
        "kind": "model card",
        "title": f"{manifest.get('title', survey['name'])}: {target['name']}",
        "finished": record["finished"],
        "model": {
            "predicts": target["name"],
            "positive": target["positive"],
            "negative": target["negative"],
            # a record made before learners had names says nothing of its learner
            "learner": record.get("learner_is", LEARNERS[DEFAULT].description),
            "privacy": _claim(record),
            "encoding": record["encoding"],
            "encoding_is": ENCODINGS[record["encoding"]].description,
            "parameters": record["parameters"],
            "seed": record["seed"],
            "threshold": 0.5,
        },
        "survey": {
            **survey,
            "title": manifest.get("title"),
            "epsilon": record["epsilon"],
            "split": record["split"],
            "protocol": record["protocol"],
            "attributes": [_attribute(item, manifest) for item in manifest["attributes"]],
            "protected": manifest.get("protected"),
        },
        "data": {
            "mode": record["mode"],
            "rows": record["rows"],
            "inputs": record["inputs"],
            "tested_on": record["tested_on"],
            "baseline_is": record["baseline_is"],
        },
        "protections": [protection.to_json() for protection in protections(record)],
        "confidence": record.get("confidence"),
        "metrics": _metrics(record),
        "unmeasured": record["unmeasured"],
        "on_records": record.get("on_records"),
        "fairness": record.get("fairness"),
        "limits": limits(record),
        "versions": record["versions"],
    }


def limits(record: RunRecord) -> list[str]:
    """Return what a reader must not conclude from the numbers, in words."""
    epsilon, target = record["epsilon"], record["target"]
    sentences = [
        f"Sensitive answers were randomised person by person before anything was learned from "
        f"them; what one person gave for them reveals at most epsilon {epsilon} in all. Attributes "
        "marked as in clear are not covered by that.",
        "The model was fitted to randomised records. Scores are for rows in clear; fed with "
        "randomised records it behaves otherwise, which is what an audit calls “as deployed on LDP "
        "records” (hushpoll fairness model).",
        privacy_sentence(_claim(record)),
    ]
    if record["ldp"] is None and record.get("on_records"):
        sentences.append(
            "No panel in clear was given. Accuracy and fairness were estimated on perturbed "
            "records alone, and say nothing of how the model does on answers in clear."
        )
    elif record["ldp"] is None:
        sentences.append(f"Nothing was measured: {record['unmeasured']}.")
    elif record["mode"] == "simulation":
        sentences.append(
            "This is a simulation: rows in clear were split, one part was randomised as devices "
            f"would have done, and the metrics are of {record['tested_on']}. No respondent's real "
            "report was involved. Nothing that is said here protects the rows in clear, since all "
            "noise of this simulation was drawn from its seed and can be drawn again."
        )
    else:
        sentences.append(
            f"Metrics are of {record['tested_on']}: people who agreed to give their answers in "
            "clear. They say something about all respondents only as far as the panel resembles "
            "them."
        )
    if record["ldp"] is not None:
        sentences.append(
            "Intervals are about other people drawn like those who were tested, with this model; "
            "they do not tell how another training, with other noise, would have come out."
        )
        sentences.append(
            "Each interval holds by itself: of 20 at 95 %, one is expected to miss. They hold for "
            "one look at the results, decided on beforehand: if several models are compared, or "
            "the model is measured again until a result pleases, more of them miss."
        )
    learner = LEARNERS.get(str(record.get("learner", DEFAULT)))
    if learner is not None and learner.compares_groups:
        sentences.append(MITIGATED)
    if target["p"] != 1.0:
        sentences.append(
            f"The target was randomised as well: a label is the truth with probability "
            f"{target['p']:.3g}. Scores are corrected for that."
        )
    protected = record["manifest"].get("protected")
    if protected is None:
        sentences.append(
            "The manifest declares no protected attribute, so no fairness was measured."
        )
    else:
        sentences.append(
            "Fairness is about the groups named here and no others. That a difference is small "
            "does not show that the predictions do no harm, and a group that is too small to be "
            "measured is not thereby treated alike."
        )
    return sentences


def _claim(record: RunRecord) -> JsonObject:
    claim: JsonObject = record.get("privacy", PrivacyClaim().to_json())
    return claim


def _attribute(item: Mapping[str, Any], manifest: Mapping[str, Any]) -> JsonMembers:
    categories = list(item["categories"])
    # A question of a block has its protocol and its epsilon there.
    blocks = manifest.get("together", ())
    stated = next((one for one in blocks if item["name"] in one["attributes"]), item)
    return {
        "name": item["name"],
        "role": item["role"],
        "protocol": stated.get("protocol"),
        "epsilon": stated.get("epsilon"),
        "categories": len(categories) + (item.get("missing") is not None),
    }


def _metrics(record: RunRecord) -> dict[str, Any] | None:
    """Return value and interval per metric and model; fairness intervals are the report's."""
    if record["ldp"] is None:
        return None
    metrics: dict[str, Any] = {}
    for model in ("ldp", "baseline"):
        values = record[model] or {}
        measured, reports = record.get("intervals"), record.get("fairness")
        intervals = (measured[model] if measured else None) or {}
        compared = _compared(reports[model] if reports else None)
        metrics[model] = {
            name: {
                "value": values[name],
                "interval": intervals.get(name) if name in UTILITY else compared.get(name),
            }
            for name in (*UTILITY, *FAIRNESS)
        }
    return metrics


def _compared(reports: list[ReportDocument] | None) -> dict[str, LimitsDocument | None]:
    """Return the closed-form limits of the manifest's two groups."""
    for report in reports or ():
        if report["reference_is"] == BY_MANIFEST:
            metrics = report["comparisons"][0]["metrics"]
            return {name: result.get("closed_form") for name, result in metrics.items()}
    return {}
