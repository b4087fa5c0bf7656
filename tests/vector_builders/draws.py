"""Writes draws.json: what is said of draws, and which of them are refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hushpoll_client.device.preview import build_preview
from hushpoll_protocols import ManifestRefused
from hushpoll_shared import Manifest, Published
from vector_builders.document import Group, write
from vector_builders.surveys import DRAWN, DRAWS, FOLLOW_UP_DRAWS, SELECTS, SELECTS_BESIDE

REFUSED: tuple[tuple[str, str, Callable[[dict[str, Any]], object]], ...] = (
    ("no draws", "draws", lambda one: one.update(draws=[])),
    ("null", "draws", lambda one: one.update(draws=None)),
    ("no object", "draws[0]", lambda one: one.update(draws=["rota"])),
    ("an unknown key", "draws[rota].k", lambda one: one["draws"][0].update(k=2)),
    ("a key that is missing", "draws[rota].answer", lambda one: one["draws"][0].pop("answer")),
    ("a bad name", "draws[0].name", lambda one: one["draws"][0].update(name="A b")),
    ("the name of a block", "draws[pair].name", lambda one: one["draws"][0].update(name="pair")),
    ("the name of a question", "draws[age].name", lambda one: one["draws"][0].update(name="age")),
    ("one block", "draws[rota].blocks", lambda one: one["draws"][0].update(blocks=["age"])),
    ("a block twice", "draws[rota].blocks", lambda one: one["draws"][0]["blocks"].append("age")),
    ("in clear", "draws[rota].blocks", lambda one: one["draws"][0]["blocks"].append("town")),
    ("a question", "draws[rota].blocks", lambda one: one["draws"][0]["blocks"].append("smokes")),
    ("answer 0", "draws[rota].answer", lambda one: one["draws"][0].update(answer=0)),
    ("answer all", "draws[rota].answer", lambda one: one["draws"][0].update(answer=3)),
    ("answer a text", "draws[rota].answer", lambda one: one["draws"][0].update(answer="2")),
    ("epsilon", "draws[rota].epsilon", lambda one: one["draws"][0].update(epsilon="1.6")),
    ("epsilon a number", "draws[rota].epsilon", lambda one: one["draws"][0].update(epsilon=1.5)),
    ("k-based", "split", lambda one: one.update(split="k-based")),
    ("the shorthand", "answer", lambda one: one.update(answer=2)),
)


SELECTS_REFUSED: tuple[tuple[str, str, Callable[[dict[str, Any]], object]], ...] = (
    ("options out of order", "draws[news].blocks", lambda one: one["draws"][0]["blocks"].reverse()),
    ("an option is left out", "draws[news].blocks", lambda one: one["draws"][0]["blocks"].pop()),
    (
        "another question beside options",
        "draws[news].blocks",
        lambda one: one["draws"][0]["blocks"].append("sex"),
    ),
)


def build(folder: Path) -> None:
    """Write draws.json."""
    previews = Group(
        "previews",
        "The whole preview of a survey with draws, without answers.",
        {"published": "the published form", "preview": "the text"},
    )
    for draft in (
        DRAWS,
        DRAWN,
        FOLLOW_UP_DRAWS,
        FOLLOW_UP_DRAWS | {"epsilon": "40"},
        SELECTS,
        SELECTS_BESIDE,
    ):
        published = Manifest.from_dict(draft).resolve()
        previews.add(published=published.to_dict(), preview=str(build_preview(published, None)))
    refused = Group(
        "refused",
        "Published surveys with draws that are refused.",
        {"what": "what is wrong", "field": "path of the field at fault", "published": "the survey"},
    )
    for what, field, change in REFUSED:
        document = Manifest.from_dict(DRAWS).resolve().to_dict()
        change(document)
        _expect(field, document)
        refused.add(what=what, field=field, published=document)
    for what, field, change in SELECTS_REFUSED:
        document = Manifest.from_dict(SELECTS).resolve().to_dict()
        change(document)
        _expect(field, document)
        refused.add(what=what, field=field, published=document)
    write(
        folder / "draws.json",
        "Draws: sets of blocks of which each device sends some.",
        [previews, refused],
    )


def _expect(field: str, document: dict[str, Any]) -> None:
    try:
        Published.from_json(document)
    except ManifestRefused as error:
        if error.field == field:
            return
        raise AssertionError(f"{error.field} in place of {field}") from error
    raise AssertionError(f"{field} is not refused")
