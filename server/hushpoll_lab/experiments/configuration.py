"""The configuration of an experiment: data, roles of its columns, grid, learner and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hushpoll_lab.experiments import fields
from hushpoll_lab.experiments.roles import OF_CODES, read_roles
from hushpoll_protocols import PROTOCOLS
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.reading.text_files import read_text, word
from hushpoll_shared.reading.yaml_reader import parse_yaml
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.spelling.text import NAME_LENGTH, is_name, show
from hushpoll_shared.survey.randomization.budget import DRAFT_SPLITS, NAMED_SPLITS
from hushpoll_training.data.coded import attribute_name
from hushpoll_training.encodings.registry import DEFAULT as DEFAULT_ENCODING
from hushpoll_training.encodings.registry import ENCODINGS
from hushpoll_training.learner_registry import DEFAULT as DEFAULT_LEARNER
from hushpoll_training.learner_registry import LEARNERS
from hushpoll_training.models.recipe import Recipe
from hushpoll_training.runs.cell import TEST_SIZE

HUSHPOLL: Final = "hushpoll"
REFERENCE: Final = "reference"
ENGINES: Final = (HUSHPOLL, REFERENCE)
"""The project's own way, and multi-freq-ldpy's clients row by row."""

_REQUIRED: Final = ("data", "epsilons", "seeds")
_OPTIONAL: Final = (
    *("manifest", "coded", "name", "protocols", "splits", "params", "test_size", "ignore"),
    *("engine", "learner", "encoding"),
)


@dataclass(frozen=True, slots=True)
class Experiment:
    """A checked configuration.

    Attributes
    ----------
    name : str
        What the survey is called that the data is given; the noise depends on it, through the
        digest.
    data : Path
        CSV of integer codes, or of a manifest's categories.
    target, protected : str
        Columns; code 1 is positive, and privileged.
    sensitive : tuple of str
        Columns to perturb, or to draw from.
    drawn : tuple of (int, int) or None
        Smallest and largest number of sensitive columns to draw for each seed, the protected one
        included; None where all of `sensitive` are perturbed.
    protocols, splits, epsilons : tuple of str
        The grid, in the order of the registry, of the named splits, and ascending.
    seeds : tuple of int
        Ascending.
    recipe : Recipe
        Learner, its parameters, and how records become features.
    test_size : float
        In (0, 1).
    ignore : tuple of str
        Columns that are not read.
    manifest : Manifest or None
        Names, roles and domains; None where they follow from the codes.
    coded : bool
        Whether the data holds codes of the manifest's domains, rather than its categories.
    engine : str
        ``hushpoll`` or ``reference``.
    """

    name: str
    data: Path
    target: str
    protected: str
    sensitive: tuple[str, ...]
    drawn: tuple[int, int] | None
    protocols: tuple[str, ...]
    splits: tuple[str, ...]
    epsilons: tuple[str, ...]
    seeds: tuple[int, ...]
    recipe: Recipe
    test_size: float
    ignore: tuple[str, ...]
    manifest: Manifest | None = None
    coded: bool = False
    engine: str = HUSHPOLL

    @classmethod
    def from_dict(cls, given: Mapping[str, object]) -> Experiment:
        """Check a configuration.

        Raises
        ------
        InvalidParameter
            For a key that is not known or missing, or a value that its field refuses.
        OSError
            If the manifest cannot be read.
        """
        known = (_REQUIRED[0], *OF_CODES, *_REQUIRED[1:], *_OPTIONAL)
        for key in given:
            if key not in known:
                raise InvalidParameter(
                    f"{show(key)} is no key of an experiment; use {', '.join(known)}",
                    field=str(key),
                )
        for key in _REQUIRED:
            if given.get(key) is None:
                raise InvalidParameter(
                    f"{key} is missing; set {key} in the configuration or give --{key}", field=key
                )
        data = given["data"]
        if not isinstance(data, str | Path) or not str(data):
            raise InvalidParameter(
                f"data is {show(data)}; it must be the path of a CSV file of codes", field="data"
            )
        roles = read_roles(given)
        manifest = roles.manifest
        return cls(
            **roles._asdict(),
            name=manifest.name if manifest else _name(given.get("name"), Path(data)),
            data=Path(data),
            protocols=fields.choices(
                _or(given, "protocols", list(PROTOCOLS)), "protocols", PROTOCOLS
            ),
            splits=fields.choices(_or(given, "splits", list(NAMED_SPLITS)), "splits", DRAFT_SPLITS),
            epsilons=fields.epsilons(given["epsilons"]),
            seeds=fields.seeds(given["seeds"]),
            recipe=_recipe(given),
            test_size=fields.share(_or(given, "test_size", TEST_SIZE)),
            ignore=() if not given.get("ignore") else fields.columns(given["ignore"], "ignore"),
            coded=fields.flag(_or(given, "coded", False), "coded"),
            engine=fields.choice(_or(given, "engine", HUSHPOLL), "engine", ENGINES),
        )

    def settings(self) -> JsonMembers:
        """Return what results depend on, as JSON; the data counts by content, not by path."""
        sensitive: Any = list(self.sensitive)
        if self.drawn is not None:
            sensitive = {"drawn": list(self.drawn), "from": sensitive}
        # A key with its default is left out, so that folders of earlier versions stay resumable.
        described: JsonMembers = {}
        if self.manifest is not None:
            described = {"manifest": self.manifest.to_dict(), "coded": self.coded}
        if self.engine != HUSHPOLL:
            described["engine"] = self.engine
        if self.recipe.encoding.name != DEFAULT_ENCODING:
            described["encoding"] = self.recipe.encoding.name
        if self.recipe.learner.name != DEFAULT_LEARNER:
            described["learner"] = self.recipe.learner.name
        return {
            "name": self.name,
            "target": self.target,
            "protected": self.protected,
            "sensitive": sensitive,
            "protocols": list(self.protocols),
            "splits": list(self.splits),
            "epsilons": list(self.epsilons),
            "seeds": list(self.seeds),
            "params": dict(self.recipe.learner.parameters),
            "test_size": self.test_size,
            "ignore": list(self.ignore),
            **described,
        }


def load_configuration(path: Path) -> JsonMembers:
    """Read a configuration file: YAML, or JSON, which is YAML too.

    A relative path of data, or of a manifest, begins at the file's folder.

    Raises
    ------
    InvalidParameter
        Naming the file, if it holds no mapping.
    OSError
        If it cannot be read.
    """
    given = read_mapping(read_text(path, field="config"), word(path))
    for key in ("data", "manifest"):
        file = given.get(key)
        if isinstance(file, str):
            given[key] = str(path.parent / file)
    return given


def read_mapping(content: str, name: str) -> JsonMembers:
    """Read a YAML mapping; `name` is what errors call it."""
    try:
        mapping = parse_yaml(content)
    except InvalidParameter as error:
        raise InvalidParameter(f"{name} is {error}", field="config") from None
    if not isinstance(mapping, dict):
        raise InvalidParameter(
            f"{name} holds {show(mapping)}; it must map keys to values, such as epsilons: [1, 4]",
            field="config",
        )
    return mapping


def _or(given: Mapping[str, object], key: str, default: Any) -> Any:
    value = given.get(key)
    return default if value is None else value


def _name(value: object, data: Path) -> str:
    if value is None:
        return attribute_name(data.stem)[:NAME_LENGTH]
    if not is_name(value):
        raise InvalidParameter(
            f"name is {show(value)}; it must be 1 to {NAME_LENGTH} characters out of a-z 0-9 _ -",
            field="name",
        )
    return str(value)


def _recipe(given: Mapping[str, object]) -> Recipe:
    parameters = _or(given, "params", {})
    if not isinstance(parameters, Mapping):
        raise InvalidParameter(
            f"params is {show(parameters)}; it must map names to values, such as max_depth: 5",
            field="params",
        )
    learner = fields.choice(_or(given, "learner", DEFAULT_LEARNER), "learner", LEARNERS)
    encoding = fields.choice(_or(given, "encoding", DEFAULT_ENCODING), "encoding", ENCODINGS)
    if encoding != DEFAULT_ENCODING and given.get("engine") == REFERENCE:
        raise InvalidParameter(
            f"encoding is {show(encoding)}, and the reference engine knows indicators only; leave "
            "out one of engine and encoding",
            field="encoding",
        )
    return Recipe.of(parameters, learner=learner, encoding=encoding)
