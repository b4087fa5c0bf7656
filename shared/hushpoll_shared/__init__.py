"""What client and server agree on: manifest, budget, record, wire, problems.

The base install needs the standard library alone. The array side is in
:mod:`hushpoll_shared.wire.batch` (extra ``kernels``), YAML and the terminal need the extra ``cli``.
Each name is loaded when it is first used (PEP 562): most modules below need none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hushpoll_shared.drafts.manifest import Manifest, load_manifest
    from hushpoll_shared.survey.published import Published

__all__ = ["Manifest", "Published", "load_manifest"]

_HOME = {
    "Manifest": "hushpoll_shared.drafts.manifest",
    "Published": "hushpoll_shared.survey.published",
    "load_manifest": "hushpoll_shared.drafts.manifest",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
