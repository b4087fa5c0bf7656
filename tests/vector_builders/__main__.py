"""Write every file of vectors: ``python -m vector_builders [--out FOLDER]``."""

from __future__ import annotations

import argparse
from pathlib import Path

from vector_builders import (
    answers,
    budgets,
    draws,
    hashes,
    invitations,
    languages,
    manifests,
    protection,
    records,
    refusals,
    thresholds,
    wire,
    withdrawals,
)

BUILDERS = (
    thresholds,
    hashes,
    invitations,
    records,
    budgets,
    manifests,
    refusals,
    wire,
    answers,
    protection,
    languages,
    draws,
    withdrawals,
)


def main() -> None:
    """Parse the arguments and write the files."""
    parser = argparse.ArgumentParser(description="Write the golden vectors.")
    default = Path(__file__).resolve().parent.parent / "vectors"
    parser.add_argument(
        "--out", type=Path, default=default, help="folder, tests/vectors by default"
    )
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    for builder in BUILDERS:
        builder.build(folder)


main()
