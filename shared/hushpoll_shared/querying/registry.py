"""Every query that there is: the modules of :mod:`hushpoll_shared.queries`, each read once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import parse_qsl

from hushpoll_protocols.errors import InvalidParameter, refusal_of
from hushpoll_shared.querying.query import Query
from hushpoll_shared.spelling.text import show

_PACKAGE: Final = "hushpoll_shared.queries"


@cache
def all_queries() -> Mapping[str, type[Query[Any]]]:
    """Return the queries by name, in the order of their modules."""
    package = import_module(_PACKAGE)
    modules = [one.name for one in iter_modules(package.__path__, f"{_PACKAGE}.")]
    queries = [query for one in modules if "__main__" not in one for query in _queries_in(one)]
    return MappingProxyType({query.name: query for query in queries})


def query_named(name: str) -> type[Query[Any]]:
    """Return the query of this name; no module is loaded but its own, which is called as it is."""
    (query,) = _queries_in(f"{_PACKAGE}.{name.replace('-', '_')}")
    return query


def _queries_in(module: str) -> list[type[Query[Any]]]:
    return [
        value
        for value in vars(import_module(module)).values()
        if isinstance(value, type) and issubclass(value, Query) and value.__module__ == module
        if "name" in vars(value)
    ]


@cache
def query_that_serves(purpose: str) -> type[Query[Any]]:
    """Return the query that a page asks for something, by what it `serves` and not by its name."""
    return next(one for one in all_queries().values() if one.serves == purpose)


def query_at(address: str, field: str) -> Query[Any]:
    """Return the query of an address that `Query.address` gives; a refusal names `field`."""
    name, _, words = address.partition("?")
    kind = all_queries().get(name)
    if kind is None:
        raise refusal_of(field)(f"names {show(name)}; give one of {', '.join(all_queries())}")
    try:
        return kind.of_texts(dict(parse_qsl(words, keep_blank_values=True, errors="strict")))
    except InvalidParameter as error:
        raise InvalidParameter(f"{field}: in {name}, {error}", field=field) from error
    except ValueError as error:
        raise refusal_of(field)(
            f"has {show(address)}, which cannot be read ({error}); give it as the address of the "
            "result has it"
        ) from error
