"""The Python reference: every public name of a package, with its docstring."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module

from directives.markdown import code


def text(module: str) -> str:
    """Return the directives of autodoc for every name in the module's ``__all__``.

    Parameters
    ----------
    module : str
        Such as ``hushpoll_client``.
    """
    package = import_module(module)
    parts = []
    for name in sorted(package.__all__, key=str.lower):
        value = getattr(package, name)
        owner = _owner(value, module)
        if owner != module:
            lines = [f".. py:data:: {module}.{name}", "   :no-index:", ""]
            lines.append(f"   The name :py:obj:`{owner}.{name}`, given on here.")
        elif inspect.isclass(value):
            lines = [f".. autoclass:: {module}.{name}", "   :members:"]
        elif callable(value):
            lines = [f".. autofunction:: {module}.{name}"]
        else:
            lines = [f".. py:data:: {module}.{name}", "", f"   {_content(value)}"]
        parts.append("\n".join(lines))
    return code("\n\n".join(parts), "{eval-rst}")


def _owner(value: object, module: str) -> str:
    """Return the public module that documents a class or function: its own package, or this."""
    package = getattr(value, "__module__", module).partition(".")[0]
    is_ours = package.startswith("hushpoll_") and package != module.partition(".")[0]
    return package if is_ours and not hasattr(value, "__members__") else module


def _content(value: object) -> str:
    """Say what a table or a number holds."""
    if isinstance(value, Mapping):
        return f"A mapping with the keys {', '.join(f'`{key}`' for key in value)}."
    if isinstance(value, tuple | list | frozenset):
        return f"Holds {', '.join(f'`{item}`' for item in value if str(item))}."
    return f"`{value}`"
