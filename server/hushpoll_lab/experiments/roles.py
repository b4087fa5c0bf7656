"""Which columns an experiment predicts, protects and perturbs, by their names or by a manifest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from hushpoll_lab.experiments import fields
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.drafts.manifest import Manifest, load_manifest
from hushpoll_shared.spelling.text import show

OF_CODES: Final = ("target", "protected", "sensitive")
"""Keys of a configuration without a manifest."""

OF_MANIFEST: Final = (*OF_CODES, "name")
"""Keys that a configuration with a manifest leaves to it."""


class Roles(NamedTuple):
    """The roles of the columns, as :class:`~.configuration.Experiment` has them."""

    target: str
    protected: str
    sensitive: tuple[str, ...]
    drawn: tuple[int, int] | None
    manifest: Manifest | None


def read_roles(given: Mapping[str, object]) -> Roles:
    """Read the roles of a configuration; refuses keys that the manifest says already."""
    if given.get("manifest") is not None:
        return _described(given)
    if given.get("coded") is not None:
        raise InvalidParameter(
            "coded says how the data relates to a manifest, and there is none; give one, or leave "
            "it out",
            field="coded",
        )
    for key in OF_CODES:
        if given.get(key) is None:
            raise InvalidParameter(
                f"{key} is missing; set {key} in the configuration or give --{key}, or a manifest "
                "that says it",
                field=key,
            )
    target, protected = (fields.column(given[key], key) for key in ("target", "protected"))
    sensitive, drawn = _sensitive(given["sensitive"], protected)
    return Roles(target, protected, sensitive, drawn, None)


def _described(given: Mapping[str, object]) -> Roles:
    for key in OF_MANIFEST:
        if given.get(key) is not None:
            raise InvalidParameter(
                f"{key} is the manifest's to say; leave it out, or the manifest", field=key
            )
    path = given["manifest"]
    if not isinstance(path, str | Path) or not str(path):
        raise InvalidParameter(
            f"manifest is {show(path)}; it must be the path of a manifest (.json, .yaml)",
            field="manifest",
        )
    manifest = load_manifest(path)
    target = next((item.name for item in manifest.attributes if item.role == "target"), None)
    if target is None or manifest.protected is None:
        lacking = "target" if target is None else "protected attribute"
        raise InvalidParameter(
            f"the manifest {path} has no {lacking}, so there is nothing to measure; declare one",
            field="manifest",
        )
    sensitive = tuple(item.name for item in manifest.attributes if item.role == "sensitive")
    return Roles(target, manifest.protected.attribute, sensitive, None, manifest)


def _sensitive(value: object, protected: str) -> tuple[tuple[str, ...], tuple[int, int] | None]:
    if not isinstance(value, Mapping):
        return fields.columns(value, "sensitive"), None
    if set(value) != {"drawn", "from"}:
        raise InvalidParameter(
            f"sensitive is {show(dict(value))}; it must be a list of columns, or "
            "{drawn: [2, 6], from: [columns]}",
            field="sensitive",
        )
    candidates = fields.columns(value["from"], "sensitive.from")
    if protected not in candidates:
        raise InvalidParameter(
            f"sensitive.from lacks {protected!r}, the protected column, which is always drawn; add "
            "it",
            field="sensitive.from",
        )
    drawn = value["drawn"]
    numbers = (
        isinstance(drawn, list | tuple)
        and len(drawn) == 2
        and all(isinstance(size, int) and not isinstance(size, bool) for size in drawn)
    )
    if not numbers or not 1 <= drawn[0] <= drawn[1] <= len(candidates):
        raise InvalidParameter(
            f"sensitive.drawn is {show(drawn)}; it must be [smallest, largest], whole numbers in "
            f"[1, {len(candidates)}], the number of columns to draw from",
            field="sensitive.drawn",
        )
    return candidates, (drawn[0], drawn[1])
