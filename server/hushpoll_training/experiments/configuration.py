"""What an experiment is: data, roles of its columns, the grid, the learner's parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hushpoll_protocols import PROTOCOLS
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.budget import NAMED_SPLITS
from hushpoll_shared.text import NAME_LENGTH, is_name, show
from hushpoll_shared.yaml_reader import parse_yaml
from hushpoll_training.cell import TEST_SIZE
from hushpoll_training.coded import attribute_name
from hushpoll_training.experiments import fields
from hushpoll_training.parameters import check_parameters

_REQUIRED: Final = ("data", "target", "protected", "sensitive", "epsilons", "seeds")
_OPTIONAL: Final = ("name", "protocols", "splits", "params", "test_size", "ignore")


@dataclass(frozen=True, slots=True)
class Experiment:
    """A checked configuration.

    Attributes
    ----------
    name : str
        Of the survey that the data is given; the noise depends on it, through the digest.
    data : Path
        CSV of integer codes.
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
    parameters : mapping
        The learner's, defaults filled in.
    test_size : float
        In (0, 1).
    ignore : tuple of str
        Columns that are not read.
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
    parameters: Mapping[str, int | float]
    test_size: float
    ignore: tuple[str, ...]

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Experiment:
        """Check a configuration.

        Raises
        ------
        InvalidParameter
            For a key that is not known or missing, or a value that its field refuses.
        """
        for key in given:
            if key not in _REQUIRED + _OPTIONAL:
                raise InvalidParameter(
                    f"{show(key)} is no key of an experiment; use "
                    f"{', '.join(_REQUIRED + _OPTIONAL)}",
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
        target, protected = (fields.column(given[key], key) for key in ("target", "protected"))
        sensitive, drawn = _sensitive(given["sensitive"], protected)
        return cls(
            name=_name(given.get("name"), Path(data)),
            data=Path(data),
            target=target,
            protected=protected,
            sensitive=sensitive,
            drawn=drawn,
            protocols=fields.choices(
                _or(given, "protocols", list(PROTOCOLS)), "protocols", PROTOCOLS
            ),
            splits=fields.choices(_or(given, "splits", list(NAMED_SPLITS)), "splits", NAMED_SPLITS),
            epsilons=fields.epsilons(given["epsilons"]),
            seeds=fields.seeds(given["seeds"]),
            parameters=_parameters(_or(given, "params", {})),
            test_size=fields.share(_or(given, "test_size", TEST_SIZE)),
            ignore=() if not given.get("ignore") else fields.columns(given["ignore"], "ignore"),
        )

    def settings(self) -> dict[str, Any]:
        """Return what results depend on, as JSON; the data counts by content, not by path."""
        sensitive: Any = list(self.sensitive)
        if self.drawn is not None:
            sensitive = {"drawn": list(self.drawn), "from": sensitive}
        return {
            "name": self.name,
            "target": self.target,
            "protected": self.protected,
            "sensitive": sensitive,
            "protocols": list(self.protocols),
            "splits": list(self.splits),
            "epsilons": list(self.epsilons),
            "seeds": list(self.seeds),
            "params": dict(self.parameters),
            "test_size": self.test_size,
            "ignore": list(self.ignore),
        }


def load_configuration(path: Path) -> dict[str, Any]:
    """Read a configuration file: YAML, or JSON, which is YAML too.

    A relative path of data begins at the file's folder.

    Raises
    ------
    InvalidParameter
        Naming the file, if it holds no mapping.
    OSError
        If it cannot be read.
    """
    given = read_mapping(path.read_bytes(), str(path))
    if isinstance(given.get("data"), str):
        given["data"] = str(path.parent / given["data"])
    return given


def read_mapping(content: bytes, name: str) -> dict[str, Any]:
    """Read a YAML mapping; `name` is what errors call it."""
    try:
        found = parse_yaml(content)
    except InvalidParameter as error:
        raise InvalidParameter(f"{name} is {error}", field="config") from None
    if not isinstance(found, dict):
        raise InvalidParameter(
            f"{name} holds {show(found)}; it must map keys to values, such as epsilons: [1, 4]",
            field="config",
        )
    return found


def _or(given: Mapping[str, Any], key: str, default: Any) -> Any:
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


def _parameters(value: object) -> dict[str, int | float]:
    if not isinstance(value, Mapping):
        raise InvalidParameter(
            f"params is {show(value)}; it must map names to numbers, such as n_estimators: 500",
            field="params",
        )
    return check_parameters(value)


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
        and all(isinstance(one, int) and not isinstance(one, bool) for one in drawn)
    )
    if not numbers or not 1 <= drawn[0] <= drawn[1] <= len(candidates):
        raise InvalidParameter(
            f"sensitive.drawn is {show(drawn)}; it must be [smallest, largest], whole numbers in "
            f"[1, {len(candidates)}], the number of columns to draw from",
            field="sensitive.drawn",
        )
    return candidates, (drawn[0], drawn[1])
