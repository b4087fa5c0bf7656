"""Print where each query is declared: ``python -m hushpoll_shared.queries``."""

from __future__ import annotations

import inspect
import sys

from hushpoll_shared.querying.registry import all_queries

if __name__ == "__main__":
    for name, query in sorted(all_queries().items()):
        module, line = inspect.getsourcefile(query), inspect.getsourcelines(query)[1]
        sys.stdout.write(f"{name:24} hushpoll {query.command:24} {module}:{line}\n")
