"""Models on disk: a directory of three files.

``model.txt`` holds the trees in LightGBM's own text format, which any LightGBM reads;
``model.json`` what they mean: the published manifest, the columns, the target and its correction;
``run.json`` the record of the run. The baseline is never saved: it was fitted to answers in clear.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import lightgbm

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.canonical import parse_json
from hushpoll_shared.survey.published import Published
from hushpoll_training.data.target import Target
from hushpoll_training.encodings.encoding import check_encoding
from hushpoll_training.encodings.features import Features
from hushpoll_training.models.model import Model
from hushpoll_training.models.model_text import UnsoundText, check_text
from hushpoll_training.models.model_trial import TrialFailed, try_text
from hushpoll_training.reports.pages import card_page
from hushpoll_training.runs.record import versions

FORMAT: Final = 1
TREES: Final = "model.txt"
MEANING: Final = "model.json"
RUN: Final = "run.json"
CARD: Final = "card.json"
CARD_PAGE: Final = "card.html"


def check_directory(directory: Path, *, overwrite: bool = False) -> None:
    """Refuse a directory that a model must not be saved in; to be called before hours of training.

    Raises
    ------
    InvalidParameter
        If it holds a model and `overwrite` is false, or anything else.
    OSError
        If it is no directory, or cannot be made.
    """
    directory.mkdir(parents=True, exist_ok=True)
    names = {path.name for path in directory.iterdir()}
    strange = sorted(names - {TREES, MEANING, RUN, CARD, CARD_PAGE})
    if strange:
        raise InvalidParameter(
            f"out {str(directory)!r} holds {strange[0]!r}, which is no part of a model; give a new "
            "or an empty directory",
            field="out",
        )
    if names and not overwrite:
        raise InvalidParameter(
            f"out {str(directory)!r} holds a model already; give another directory, or --overwrite",
            field="out",
        )


def save_model(
    model: Model,
    directory: Path,
    run: Mapping[str, Any],
    *,
    overwrite: bool = False,
    card: Mapping[str, Any] | None = None,
) -> None:
    """Save a model with the record of its run.

    Parameters
    ----------
    model : Model
        As fitted to records.
    directory : Path
        New, empty, or holding a model to overwrite.
    run : mapping
        The record, JSON.
    overwrite : bool
        Whether a model that is there may be replaced.
    card : mapping, optional
        As :func:`hushpoll_training.reports.card.model_card` makes it; saved as JSON and as a page.

    Raises
    ------
    InvalidParameter
        As :func:`check_directory`.
    OSError
        If the files cannot be written.
    """
    check_directory(directory, overwrite=overwrite)
    trees = model.booster.model_to_string().encode()
    meaning = {
        "format": FORMAT,
        "kind": "model",
        "trees": {"file": TREES, "sha256": hashlib.sha256(trees).hexdigest()},
        **_encoding(model.features),
        "features": list(model.features.names),
        "target": model.target.to_json(),
        "rows": model.rows,
        "versions": versions(),
        "manifest": model.published.to_dict(),
    }
    contents = {TREES: trees, RUN: _json(run), MEANING: _json(meaning)}
    if card is not None:
        contents |= {CARD: _json(card), CARD_PAGE: card_page(card).encode()}
    # Written beside their places first: a full disk leaves an older model as it was.
    with TemporaryDirectory(dir=directory, prefix=".writing-") as draft:
        for name, content in contents.items():
            (Path(draft) / name).write_bytes(content)
        for name in contents:
            (Path(draft) / name).replace(directory / name)
    for name in {CARD, CARD_PAGE} - set(contents):
        # an older model's
        (directory / name).unlink(missing_ok=True)


def read_run(directory: Path) -> dict[str, Any]:
    """Read the record of the run that a model was saved with.

    Raises
    ------
    InvalidParameter
        If the directory holds no such record.
    OSError
        If it cannot be read.
    """
    path = directory / RUN
    if not path.is_file():
        raise InvalidParameter(
            f"model {str(directory)!r} has no {RUN}; give a directory that hushpoll train --out "
            "has written",
            field="model",
        )
    try:
        found = parse_json(path.read_bytes())
    except InvalidParameter as error:
        raise _contradiction(path, f"is no JSON ({error})") from None
    if not isinstance(found, dict) or found.get("kind") != "training run":
        raise _contradiction(path, "is no record of a training run")
    return found


def load_model(directory: Path, *, trial: bool = False) -> Model:
    """Load a model that :func:`save_model` saved.

    The structure of its trees is checked before LightGBM reads them, since LightGBM does not. That
    is no promise for models from strangers: the checksum stands beside the trees.

    Parameters
    ----------
    directory : Path
        As written by :func:`save_model`.
    trial : bool
        Whether another process reads the trees first (about a second): if they end it, this one
        raises.

    Raises
    ------
    InvalidParameter
        If the directory holds no model, its files contradict each other, or the trees are not as
        :func:`save_model` writes them.
    ManifestRefused
        If its manifest contradicts itself.
    OSError
        If a file cannot be read.
    """
    if not (directory / MEANING).is_file():
        raise InvalidParameter(
            f"model {str(directory)!r} has no {MEANING}; give a directory that hushpoll train "
            "--out has written",
            field="model",
        )
    meaning = _read(directory / MEANING)
    trees = (directory / TREES).read_bytes()
    published = Published.from_json(meaning["manifest"])
    features = Features.of(published, _priors(meaning, directory / MEANING))
    target = Target.of(published)
    if hashlib.sha256(trees).hexdigest() != meaning["trees"]["sha256"]:
        raise _contradiction(directory / TREES, f"is not the file that {MEANING} describes")
    for name, expected in (
        ("features", list(features.names)),
        ("target", target.to_json()),
    ):
        if meaning[name] != expected:
            raise _contradiction(directory / MEANING, f"has {name} that are not its manifest's")
    try:
        text = trees.decode("latin-1")
        check_text(text, features.safe_names)
        if trial:
            try_text(text)
        booster = lightgbm.Booster(model_str=text)
    except (UnsoundText, TrialFailed) as error:
        raise _altered(directory / TREES, str(error)) from None
    except (ValueError, lightgbm.basic.LightGBMError):
        raise _altered(directory / TREES, "is not taken by LightGBM") from None
    return Model(features, target, booster, int(meaning["rows"]))


def _encoding(features: Features) -> dict[str, Any]:
    if features.priors is None:
        return {"encoding": features.encoding}
    priors = {name: list(prior) for name, prior in features.priors.items()}
    return {"encoding": features.encoding, "priors": priors}


def _priors(meaning: Mapping[str, Any], path: Path) -> dict[str, tuple[float, ...]] | None:
    """Return the priors of a posterior encoding, checked against the manifest."""
    try:
        check_encoding(meaning["encoding"])
    except InvalidParameter as error:
        raise _contradiction(path, f"has another encoding ({error})") from None
    if meaning["encoding"] == "indicator":
        return None
    published, found = Published.from_json(meaning["manifest"]), meaning.get("priors")
    needed = {one.name: one.k for one in published.perturbed if one.role != "target"}
    if not isinstance(found, dict) or set(found) != set(needed):
        raise _contradiction(path, f"must hold the priors of {', '.join(needed)}")
    for name, k in needed.items():
        prior = found[name]
        numbers = isinstance(prior, list) and all(
            isinstance(one, int | float) and not isinstance(one, bool) for one in prior
        )
        if not numbers or len(prior) != k or min(prior) < 0 or abs(sum(prior) - 1) > 1e-6:
            raise _contradiction(
                path, f"has a prior of {name} that is not {k} chances that sum to 1"
            )
    return {name: tuple(float(one) for one in found[name]) for name in needed}


def _read(path: Path) -> dict[str, Any]:
    try:
        found = parse_json(path.read_bytes())
    except InvalidParameter as error:
        raise _contradiction(path, f"is no JSON ({error})") from None
    needed = {
        "format": int,
        "trees": dict,
        "encoding": str,
        "features": list,
        "target": dict,
        "rows": int,
        "manifest": dict,
    }
    if not isinstance(found, dict) or not all(
        isinstance(found.get(name), kind) for name, kind in needed.items()
    ):
        raise _contradiction(path, f"must hold {', '.join(needed)}")
    if found["format"] != FORMAT:
        raise InvalidParameter(
            f"{path} has format {found['format']}; this version reads {FORMAT}: update hushpoll",
            field="model",
        )
    if "sha256" not in found["trees"]:
        raise _contradiction(path, "must hold the SHA-256 of the trees")
    return found


def _contradiction(path: Path, what: str) -> InvalidParameter:
    return InvalidParameter(f"{path} {what}; train the model again", field="model")


def _altered(path: Path, what: str) -> InvalidParameter:
    return InvalidParameter(
        f"{path} {what}: it is damaged, or not as hushpoll wrote it; train the model again, and "
        "use none from a stranger",
        field="model",
    )


def _json(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
