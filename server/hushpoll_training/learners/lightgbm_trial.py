"""A process that reads a saved LightGBM model first, since reading an altered one may end it.

This file, run by itself, reads the text of a model on standard input and ends with 0 if LightGBM
could read it and score with it. LightGBM is not made for altered files: it believes what it reads,
and some end the process. Run so it loads nothing of ours, and of LightGBM's what a trial needs.
"""

from __future__ import annotations

import math
import signal
import subprocess
import sys
from typing import Final

ROWS: Final = 64
"""Rows of noughts and ones that are scored, besides one of each alone."""

SECONDS: Final = 600.0
"""How long a trial may take."""

# LightGBM takes data of theirs where they are there, and loads them for seconds to find out.
_UNUSED: Final = ("dask", "graphviz", "matplotlib", "pandas", "pyarrow", "sklearn")


class TrialFailed(ValueError):
    """LightGBM did not read the text, or ended while it did; the message says which."""


def try_text(text: str) -> None:
    """Let another process read the text of a model, and score rows with it.

    Refuses the text if that process is killed by a signal, ends with an error, or takes longer than
    `SECONDS`.
    """
    # -P: a module of the working directory must not stand in for one of ours.
    command = [sys.executable, "-P", __file__]
    try:
        done = subprocess.run(  # noqa: S603  our own interpreter and module
            command, input=text.encode("ascii"), capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise TrialFailed(f"keeps LightGBM busy for more than {SECONDS:g} seconds") from None
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        raise TrialFailed(f"ends the process that reads it ({name})")
    if done.returncode:
        raise TrialFailed("is not taken by LightGBM")


def main() -> int:
    """Read and score; return 0 if scores came out, else 1."""
    for name in _UNUSED:
        sys.modules[name] = None  # type: ignore[assignment]  # so an import of it fails
    import lightgbm
    import numpy as np

    try:
        model = lightgbm.Booster(model_str=sys.stdin.buffer.read().decode("ascii"))
        columns = model.num_feature()
        rng = np.random.default_rng(0)
        rows = rng.integers(0, 2, (ROWS, columns)).astype(np.float64)
        rows[:2] = [[0.0], [1.0]]
        score = np.asarray(model.predict(rows, num_threads=1))
    except (ValueError, lightgbm.basic.LightGBMError):
        return 1
    return 0 if score.shape == (ROWS,) and math.isfinite(float(score.sum())) else 1


if __name__ == "__main__":
    sys.exit(main())
