"""The configurations that come with the package: the paper's figures."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from hushpoll_lab.experiments.configuration import load_configuration, read_mapping
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.json_values import JsonMembers

_FOLDER = "configurations"


def names() -> tuple[str, ...]:
    """Return the names of the configurations, sorted."""
    folder = files("hushpoll_lab.experiments") / _FOLDER
    return tuple(sorted(file.name.removesuffix(".yaml") for file in folder.iterdir()))


def text(name: str) -> str:
    """Return a configuration as it is written, comments included; refuses names outside `names`."""
    if name not in names():
        raise InvalidParameter(
            f"config {name!r} is no file and no configuration of hushpoll's; give the path of a "
            f"YAML file, or one of {', '.join(names())}",
            field="config",
        )
    path = files("hushpoll_lab.experiments") / _FOLDER / f"{name}.yaml"
    return path.read_text(encoding="utf-8")


def title(name: str) -> str:
    """Return the first line of a configuration, its title."""
    return text(name).partition("\n")[0].removeprefix("# ")


def find(config: str) -> JsonMembers:
    """Read a configuration, from a file or by its name here."""
    path = Path(config)
    if path.is_file():
        return load_configuration(path)
    return read_mapping(text(config), config)
