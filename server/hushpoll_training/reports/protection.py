"""What a training protects, from whom, and by what: the trust that it asks for, in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from hushpoll_training.evaluation.documents import RunRecord
from hushpoll_training.learners.claim import PrivacyClaim
from hushpoll_training.learners.parameters import split_names

EVERYBODY: Final = "everybody, the server included"
READERS: Final = "those who see the model or its predictions"
NOBODY: Final = "nobody"


@dataclass(frozen=True, slots=True)
class Protection:
    """One thing that a training reads."""

    what: str
    """Whose answers, and which."""
    from_whom: str
    """Who learns at most what epsilon allows: `EVERYBODY`, `READERS`, or `NOBODY`."""
    how: str
    """By what, with epsilon; or who reads the answers."""

    def to_json(self) -> dict[str, str]:
        """Return it as a model card holds it."""
        return asdict(self)


def _called(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return what the options of select-alls are called: by question and text."""
    texts = {item["name"]: item.get("question", item["name"]) for item in manifest["attributes"]}
    return {
        name: f"{select['name']}: {texts[name]}"
        for select in manifest.get("selects", ())
        for name in select["attributes"]
    }


def protections(record: RunRecord) -> list[Protection]:
    """Return what a run protects from whom."""
    rows, claim = record["rows"], record.get("privacy", PrivacyClaim().to_json())
    attributes = record["manifest"]["attributes"]
    called = _called(record["manifest"])
    # A question of a block has its protocol there.
    together = {
        name for one in record["manifest"].get("together", ()) for name in one["attributes"]
    }
    sent_in_clear = [
        item.get("protocol") is None and item["name"] not in together for item in attributes
    ]
    perturbed, clear = (
        [
            called.get(item["name"], item["name"])
            for item, is_clear in zip(attributes, sent_in_clear, strict=True)
            if is_clear == wanted
        ]
        for wanted in (False, True)
    )
    found = []
    if record["mode"] == "simulation":
        found.append(
            Protection(
                "the rows in clear that the simulation read",
                NOBODY,
                f"all noise was drawn from the seed {record['seed']}, so that the run can be "
                "repeated, and can be drawn again by every reader of this record. What follows "
                "holds for a training on collected records",
            )
        )
    if perturbed:
        found.append(
            Protection(
                f"respondents' answers to {', '.join(perturbed)}",
                EVERYBODY,
                "each answer is randomised on its respondent's device; all of a person's answers "
                f"together spend epsilon {record['epsilon']} of local differential privacy",
            )
        )
    if claim["kind"] == "central":
        seen = f", {', '.join(clear)} in clear" if clear else ""
        found.append(
            Protection(
                "the whole records that the model was fitted to",
                READERS,
                f"{_central(claim)}. The person who fits the model sees these records{seen}",
            )
        )
    elif clear:
        how = "they left the devices in clear, and the person who fits the model sees them"
        found.append(Protection(f"respondents' answers to {', '.join(clear)}", NOBODY, how))
    calibration = record.get("calibration")
    protected = (record["manifest"].get("protected") or {}).get("attribute")
    if calibration is not None:
        private = calibration["kind"] == "central"
        found += [
            Protection(
                f"the answers of the {rows['rates']} people in clear on whom the two rates were "
                "measured",
                READERS if private else NOBODY,
                f"{_central(calibration) if private else 'the rates have no noise'}. The person "
                "who fits the model sees these answers",
            )
        ]
    if calibration is not None or str(record.get("learner", "")).endswith("-thresholds"):
        found.append(
            Protection(
                f"the {_read_in_clear(protected, record)} of each person who is predicted",
                NOBODY,
                "a prediction needs it in clear, and the person who runs the model sees it",
            )
        )
    if record["ldp"] is not None:
        found.append(
            Protection(
                f"the answers of {record['tested_on']}",
                NOBODY,
                "the person who tests the model sees them, and the metrics have no noise",
            )
        )
    return found


def _central(claim: Mapping[str, Any]) -> str:
    """Say epsilon, delta, neighbours and accountant of a claim of central privacy."""
    said = "" if claim.get("proven", True) else ", an approximation that is no upper bound"
    delta = "" if not claim["delta"] else f" and delta {claim['delta']:g}"
    return (
        f"epsilon {claim['epsilon']:g}{delta} of central differential privacy{said}, by "
        f"{claim['accountant']}; neighbouring data sets: {claim['neighbours']}"
    )


def _read_in_clear(protected: str | None, record: RunRecord) -> str:
    """Return the attributes that a prediction reads in clear, in words."""
    further = split_names(str(record.get("parameters", {}).get("further_groups", "")))
    return " and ".join([str(protected), *further])
