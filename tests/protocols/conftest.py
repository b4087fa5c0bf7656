"""Make the suite's own modules (conformance and what it stands on) importable from its tests."""

from __future__ import annotations

import pkgutil
import sys
from importlib import import_module
from pathlib import Path

import pytest

from hushpoll_protocols import kernels

sys.path.insert(0, str(Path(__file__).resolve().parent))
pytest.register_assert_rewrite("conformance")

# A module that a test without coverage (the mark no_cover) imports first would count as never run.
for module in pkgutil.iter_modules(kernels.__path__):
    import_module(f"{kernels.__name__}.{module.name}")
