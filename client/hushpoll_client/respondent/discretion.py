"""Keeps answers out of tracebacks: crash reporters collect the local variables of every frame.

The frames through which an answer passed are emptied before an exception leaves this package. They
keep their places, so a traceback still says where; the host app's own frames are its own affair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import wraps
from types import TracebackType
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def discreet(call: Callable[P, R]) -> Callable[P, R]:
    """Make ``call`` raise its exceptions without the local variables of the frames below.

    What was raised "from None" loses its hidden context altogether: a ``KeyError`` in there may
    carry an answer.
    """

    @wraps(call)
    def sealed(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return call(*args, **kwargs)
        except BaseException as raised:
            error = raised
        # This frame is still running, so it is not emptied with the others.
        del args, kwargs
        for one in _chain(error):
            _empty(one.__traceback__)
        raise error

    return sealed


def _chain(error: BaseException) -> Iterator[BaseException]:
    pending, seen = [error], set[int]()
    while pending:
        one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if one.__suppress_context__ and one.__cause__ is None:
            if one.__context__ is not None:
                _empty(one.__context__.__traceback__)
            one.__context__ = None
        pending += [near for near in (one.__cause__, one.__context__) if near is not None]


def _empty(trace: TracebackType | None) -> None:
    while trace is not None:
        # Refused by a frame that still runs: this package's wrapper, or the host's own.
        with suppress(RuntimeError):
            trace.tb_frame.clear()
        trace = trace.tb_next
