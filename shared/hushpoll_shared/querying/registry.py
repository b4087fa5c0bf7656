"""Every query that there is: the modules of :mod:`hushpoll_shared.queries`, each read once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Any

import hushpoll_shared.queries
from hushpoll_shared.querying.query import Query


@cache
def all_queries() -> Mapping[str, type[Query[Any]]]:
    """Return the queries by name, in the order of their modules."""
    found: dict[str, type[Query[Any]]] = {}
    package = hushpoll_shared.queries
    for module in iter_modules(package.__path__, f"{package.__name__}."):
        if module.name.endswith("__main__"):
            continue
        for value in vars(import_module(module.name)).values():
            if (
                isinstance(value, type)
                and issubclass(value, Query)
                and (value.__module__ == module.name)
            ):
                found[value.name] = value
    return MappingProxyType(found)


@cache
def queries_by_file_name() -> Mapping[str, type[Query[Any]]]:
    """Return the queries by the name that their tables have in files."""
    return MappingProxyType({one.file_name: one for one in all_queries().values()})
