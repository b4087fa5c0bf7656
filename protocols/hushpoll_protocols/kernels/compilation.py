"""Compiling a function with numba; no other module calls numba's decorator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def njit(function: Function) -> Function:
    """Compile a function on first call, without the GIL, and keep the machine code on disk.

    The functions are serial: blocks of rows run on Python threads (see ``blocks``). numba's own
    ``parallel=True`` is not used, because each of its threading layers fails somewhere that
    hushpoll runs: workqueue aborts the process when two threads of a server launch at once, and GNU
    OpenMP aborts a child that was forked after a launch (multiprocessing, a server's worker).

    Parameters
    ----------
    function : callable
        Arithmetic on uint64 must not meet a signed integer: numba would promote both to float64.

    Returns
    -------
    callable
        With the same signature.
    """
    # error_model: no division here can be by zero, and the check keeps loops from vectorising.
    try:
        compiled = numba.njit(nogil=True, error_model="numpy", cache=True)(function)
    except RuntimeError:
        # Neither the package's folder nor the user's cache folder can be written, as in a read-only
        # container: compile in each process.
        compiled = numba.njit(nogil=True, error_model="numpy")(function)
    return cast(Function, compiled)
