"""Models on disk: a directory of a few files.

The learner's own files hold what it has learned (such as ``model.txt``); ``model.json``
what that means: the published manifest, the learner, the columns, the target and its correction;
``run.json`` the record of the run. The baseline is never saved: it was fitted to answers in clear.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, cast

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.canonical import InvalidJson, parse_json
from hushpoll_shared.survey.published import Published
from hushpoll_training.data.target import Target
from hushpoll_training.encodings.encoding import Features
from hushpoll_training.encodings.registry import create_encoding
from hushpoll_training.evaluation.documents import RunRecord
from hushpoll_training.learner_registry import DEFAULT, LEARNERS, create_learner
from hushpoll_training.learners.learner import Learner, UnsoundModel
from hushpoll_training.models.model import Model
from hushpoll_training.reports.pages import card_page

FORMAT: Final = 2
FORMATS: Final = (1, FORMAT)
"""Format 1 has one learner, whose file it describes under `trees`."""

MEANING: Final = "model.json"
RUN: Final = "run.json"
CARD: Final = "card.json"
CARD_PAGE: Final = "card.html"


def _model_files() -> frozenset[str]:
    return frozenset(file for learner in LEARNERS.values() for file in learner.files)


def check_directory(directory: Path, *, overwrite: bool = False) -> None:
    """Refuse a directory that a model must not be saved in; to be called before hours of training.

    It may hold a model alone, if `overwrite` is true, or nothing.
    """
    directory.mkdir(parents=True, exist_ok=True)
    names = {path.name for path in directory.iterdir()}
    strange = sorted(names - _model_files() - {MEANING, RUN, CARD, CARD_PAGE})
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
    run: RunRecord,
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
    learner, files = model.fitted.learner, model.fitted.save()
    meaning = {
        "format": FORMAT,
        "kind": "model",
        "learner": learner.name,
        "parameters": dict(learner.parameters),
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
        **model.features.to_json(),
        "target": model.target.to_json(),
        "rows": model.rows,
        "versions": learner.versions(),
        "manifest": model.published.to_dict(),
    }
    contents = {**files, RUN: _json(run), MEANING: _json(meaning)}
    if card is not None:
        contents |= {CARD: _json(card), CARD_PAGE: card_page(card).encode()}
    # Written beside their places first: a full disk leaves an older model as it was.
    with TemporaryDirectory(dir=directory, prefix=".writing-") as draft:
        for name, content in contents.items():
            (Path(draft) / name).write_bytes(content)
        for name in contents:
            (Path(draft) / name).replace(directory / name)
    for name in ({CARD, CARD_PAGE} | _model_files()) - set(contents):
        # an older model's
        (directory / name).unlink(missing_ok=True)


def read_run(directory: Path) -> RunRecord:
    """Read the record of the run that a model was saved with."""
    path = directory / RUN
    run = _parsed(path)
    if not isinstance(run, dict) or run.get("kind") != "training run":
        raise _contradiction(path, "is no record of a training run")
    return cast("RunRecord", run)


def load_model(directory: Path, *, trial: bool = False) -> Model:
    """Load a model that :func:`save_model` saved.

    The learner checks the structure of its files before anything else reads them. That is no
    promise for models from strangers: the checksum stands beside the files.

    Parameters
    ----------
    directory : Path
        As written by :func:`save_model`.
    trial : bool
        Whether another process reads the files first (about a second), where reading an altered
        file can end one: this one then raises.

    Raises
    ------
    InvalidParameter
        If the directory holds no model, its files contradict each other, or the learner's are not
        as :func:`save_model` writes them.
    ManifestRefused
        If its manifest contradicts itself.
    OSError
        If a file cannot be read.
    """
    path = directory / MEANING
    meaning = _read(path)
    learner = _learner(meaning, path)
    files = {name: _content(directory / name) for name in learner.files}
    published = Published.from_json(meaning["manifest"])
    try:
        encoding = create_encoding(meaning["encoding"])
    except InvalidParameter as error:
        raise _contradiction(path, f"has another encoding ({error})") from None
    target = Target.of(published)
    for name, content in files.items():
        if hashlib.sha256(content).hexdigest() != meaning["files"].get(name):
            raise _contradiction(directory / name, f"is not the file that {MEANING} describes")
    try:
        features = Features.from_json(meaning, published, encoding)
    except InvalidParameter as error:
        raise _contradiction(path, str(error)) from None
    if meaning["target"] != target.to_json():
        raise _contradiction(path, "has a target that is not its manifest's")
    try:
        fitted = learner.load(files, features.names, trial=trial)
    except UnsoundModel as error:
        raise _altered(directory / error.file, str(error)) from None
    return Model(features, target, fitted, int(meaning["rows"]))


def _learner(meaning: Mapping[str, Any], path: Path) -> Learner:
    try:
        return create_learner(meaning["learner"], meaning["parameters"])
    except InvalidParameter as error:
        raise _contradiction(path, f"has another learner ({error})") from None


def _read(path: Path) -> dict[str, Any]:
    meaning = _parsed(path)
    needed = {
        "format": int,
        "encoding": str,
        "features": list,
        "target": dict,
        "rows": int,
        "manifest": dict,
    }
    if isinstance(meaning, dict) and meaning.get("format") == 1:
        meaning = _of_first_format(meaning, path)
    if isinstance(meaning, dict) and meaning.get("format") in FORMATS:
        needed |= {"learner": str, "parameters": dict, "files": dict}
    if not isinstance(meaning, dict) or not all(
        isinstance(meaning.get(name), kind) for name, kind in needed.items()
    ):
        raise _contradiction(path, f"must hold {', '.join(needed)}")
    if meaning["format"] not in FORMATS:
        raise InvalidParameter(
            f"{path} has format {meaning['format']}; this version reads {FORMATS[0]} to {FORMAT}: "
            "update hushpoll",
            field="model",
        )
    return meaning


def _of_first_format(meaning: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return what a model of format 1 means, in today's terms; its parameters are the run's."""
    trees = meaning.get("trees")
    if not isinstance(trees, dict) or "sha256" not in trees:
        raise _contradiction(path, "must hold the SHA-256 of the trees")
    try:
        parameters = read_run(path.parent).get("parameters")
    except InvalidParameter:
        # A record that is missing or damaged: the trees score without it.
        parameters = None
    (file,) = LEARNERS[DEFAULT].files
    files = {file: trees["sha256"]}
    return {**meaning, "learner": DEFAULT, "parameters": parameters or {}, "files": files}


def _content(path: Path) -> bytes:
    if not path.is_file():
        raise InvalidParameter(
            f"model {str(path.parent)!r} has no {path.name}; give a directory that hushpoll train "
            "--out has written",
            field="model",
        )
    return path.read_bytes()


def _parsed(path: Path) -> Any:
    try:
        return parse_json(_content(path))
    except InvalidJson as error:
        raise _contradiction(path, f"is no JSON ({error})") from None


def _contradiction(path: Path, what: str) -> InvalidParameter:
    return InvalidParameter(f"{path} {what}; train the model again", field="model")


def _altered(path: Path, what: str) -> InvalidParameter:
    return InvalidParameter(
        f"{path} {what}: it is damaged, or not as hushpoll wrote it; train the model again, and "
        "use none from a stranger",
        field="model",
    )


def _json(document: Mapping[str, object]) -> bytes:
    return (json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
