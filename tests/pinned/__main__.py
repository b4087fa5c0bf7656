"""Write the pinned values, or check them to the last bit: ``python -m pinned``."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from time import perf_counter

from pinned.files import (
    CELLS,
    FULL_CELLS,
    VALUES,
    WITHOUT_DATA,
    compared,
    compute,
    origin,
    parts_of,
    write,
)
from pinned.models import save_models

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Parse the arguments, and write or check."""
    parser = argparse.ArgumentParser(
        prog="scripts/make_pins", description="Write the values of tests/pinned, or check them."
    )
    parser.add_argument(
        "names",
        nargs="*",
        help=f"files: {', '.join(WITHOUT_DATA)}, {CELLS}; by default all of them. {FULL_CELLS}, "
        "which takes minutes, has to be named.",
    )
    parser.add_argument("--check", action="store_true", help="compare to the last bit, write none")
    parser.add_argument("--out", type=Path, default=VALUES, help="folder to write to")
    parser.add_argument(
        "--save-models", action="store_true", help="train the saved models anew, before all else"
    )
    given = parser.parse_args()
    data = Path(os.environ.get("HUSHPOLL_DATA", ROOT.parent / "shared" / "data"))
    if given.save_models:
        save_models()
    different = 0
    for name in given.names or [*WITHOUT_DATA, CELLS]:
        found = {}
        for key, part in parts_of(name, data).items():
            began = perf_counter()
            found[key] = compute(part)
            print(f"{name} {key}: {perf_counter() - began:.1f} s", file=sys.stderr)
            if given.check:
                places = compared(name, key, found[key], strict=True)
                if places:
                    print(f"{name}.json{origin(name)}", *places, sep="\n")
                different += len(places)
        if not given.check:
            write(name, found, given.out)
    if different:
        sys.exit(f"{different} values differ")


main()
