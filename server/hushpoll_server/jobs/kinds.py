"""What each kind of job does: it returns a file, whose bytes are kept as the result."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from hushpoll_analysis.poisoning.report_shape import report_shape
from hushpoll_protocols.errors import MissingExtra
from hushpoll_server.services.services import Services
from hushpoll_server.services.surveys.surveys import State
from hushpoll_server.store.tables.surveys import VersionRow
from hushpoll_shared.survey.terms import IMMEDIATE


@dataclass(frozen=True)
class Result:
    """A file, streamed.

    Parameters
    ----------
    file_name, media_type : str
        Of the file.
    blocks : iterator of bytes
        The file, in order; consumed once.
    """

    file_name: str
    media_type: str
    blocks: Iterator[bytes]


def seal(parts: Services, row: VersionRow, _parameters: Mapping[str, Any]) -> Result:
    """Seal what waits, if it is at least a minimum batch or the survey is over.

    Nothing is released by it, and of what is not released it tells no numbers.
    """
    over = parts.surveys.state(row) is State.CLOSED
    moved = parts.sealing.seal(row, last=over)
    told = moved if row.release == IMMEDIATE else None
    account = parts.releases.account(row)
    counts = {key: account[key] for key in ("inbox", "sealed")}
    return _json("fold", row, {"folded": told, **counts})


def export(parts: Services, row: VersionRow, parameters: Mapping[str, Any]) -> Result:
    """Write a file of records; see ``Exports.export``."""
    made = parts.exports.export(row, **parameters)
    return Result(made.name, made.media_type, made.blocks)


def train(parts: Services, row: VersionRow, parameters: Mapping[str, Any]) -> Result:
    """Fit a model to the records; the result is a ZIP of what ``hushpoll train --out`` writes.

    Raises
    ------
    MissingExtra
        The worker was installed without the extra ``train``.
    """
    try:
        from hushpoll_training.learners.parameters import check_parameters
        from hushpoll_training.models.saved import save_model
        from hushpoll_training.reports.card import model_card
        from hushpoll_training.runs.collected import train_collected
        from hushpoll_training.runs.record import run_record
    except ImportError as error:
        raise MissingExtra("train", "a training job") from error
    learner = check_parameters(parameters.get("parameters", {}))
    release = parts.analysis.release(row)
    published = parts.surveys.published(row)
    with parts.analysis.scanning(row, release) as blocks:
        records = np.concatenate(list(blocks))
    outcome = train_collected(
        published,
        records,
        learner,
        seed=int(parameters.get("seed", 0)),
        encoding=parameters.get("encoding", "indicator"),
    )
    run = run_record(outcome, learner, {})
    with TemporaryDirectory(prefix="hushpoll-model-") as folder:
        directory = Path(folder) / "model"
        save_model(outcome.model, directory, run, card=model_card(run))
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
            for path in sorted(directory.iterdir()):
                file.write(path, path.name)
    name = f"{row.name}-{row.version}-model.zip"
    return Result(name, "application/zip", iter([archive.getvalue()]))


def fairness(parts: Services, row: VersionRow, parameters: Mapping[str, Any]) -> Result:
    """Estimate group fairness from the records alone; the result is the report as JSON.

    Raises
    ------
    InvalidParameter
        For a survey or records that cannot be audited, with the reason.
    MissingExtra
        The worker was installed without the extra ``train``.
    """
    try:
        from hushpoll_training.audits.records_fairness import fairness_of_records
    except ImportError as error:
        raise MissingExtra("train", "a fairness job") from error
    release = parts.analysis.release(row)
    published = parts.surveys.published(row)
    with parts.analysis.scanning(row, release) as blocks:
        records = np.concatenate(list(blocks))
    found = fairness_of_records(published, records, **parameters)
    return _json("fairness", row, found.to_dict())


def shape(parts: Services, row: VersionRow, parameters: Mapping[str, Any]) -> Result:
    """Test whether the reports look like those of devices; the result is JSON, without a row.

    It reads sealed reports, as exports do: what it tells is counts over at least a minimum batch.
    """
    release = parts.analysis.release(row)
    published = parts.surveys.published(row)
    with parts.analysis.scanning(row, release) as blocks:
        found = report_shape(published, blocks, **parameters)
    about = {"name": row.name, "version": row.version, "digest": row.digest}
    document = {"kind": "report shape", "survey": about, **found.to_dict()}
    about_release = parts.releases.describe(row)
    return _json("shape", row, {**document, "pending": release.pending, **about_release})


WORK: dict[str, Callable[[Services, VersionRow, Mapping[str, Any]], Result]] = {
    "fold": seal,
    "export": export,
    "train": train,
    "fairness": fairness,
    "shape": shape,
}


def _json(kind: str, row: VersionRow, document: Mapping[str, Any]) -> Result:
    name = f"{row.name}-{row.version}-{kind}.json"
    return Result(name, "application/json", iter([json.dumps(document).encode()]))
