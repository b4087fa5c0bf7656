"""Options that several commands of training share, and the rows in clear that they name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from hushpoll_protocols import PROTOCOLS
from hushpoll_shared.cli.terminal import progress
from hushpoll_shared.drafts.manifest import load_manifest
from hushpoll_shared.reading.pairs import read_list
from hushpoll_shared.spelling.text import NAME_LENGTH
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.randomization.budget import DRAFT_SPLITS
from hushpoll_training.data.coded import attribute_name, describe_codes, override, read_codes
from hushpoll_training.data.rows import read_rows, table_header
from hushpoll_training.encodings.registry import DEFAULT as DEFAULT_ENCODING
from hushpoll_training.encodings.registry import ENCODINGS
from hushpoll_training.learner_registry import DEFAULT, LEARNERS, meant
from hushpoll_training.learners.learner import FitOptions, Learner
from hushpoll_training.models.model import Codes

FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)
ROLES: Final = ("target", "protected", "sensitive")
TERMS: Final = ("protocol", "split", "epsilon")

_Command = TypeVar("_Command", bound=Callable[..., Any])

threads_option = click.option(
    "--threads",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Processors to use; results do not depend on it. More than are idle make it slower.",
)
ignore_option = click.option(
    "--ignore", multiple=True, metavar="COLUMN", help="A column of the files not to read."
)


class LearnerName(click.Choice[str]):
    """The name of a learner; one that is misspelt is refused with the nearest."""

    def __init__(self) -> None:
        super().__init__(list(LEARNERS))

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name."""
        if value not in LEARNERS:
            self.fail(
                f"{value!r} is no learner; {meant(value)}give one of {', '.join(LEARNERS)}.",
                param,
                ctx,
            )
        return value


learner_option = click.option(
    "--learner",
    type=LearnerName(),
    metavar="NAME",
    default=DEFAULT,
    show_default=True,
    help=f"The training algorithm: {', '.join(LEARNERS)}.",
)
encoding_option = click.option(
    "--encoding",
    type=click.Choice(list(ENCODINGS)),
    default=DEFAULT_ENCODING,
    show_default=True,
    help="How records become features: which categories they support, or how likely each is.",
)


def seed_option(help_text: str) -> Callable[[_Command], _Command]:
    """Return what adds ``--seed``, passed to the command as `seed`."""
    return click.option(
        "--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, help=help_text
    )


def clear_data_options(
    data_help: str, terms_help: str, *, required: bool = False
) -> Callable[[_Command], _Command]:
    """Return what adds ``--data``, and the options that say what its rows are.

    The command gives them to :func:`read_clear_data`.
    """
    options = (
        click.option("--data", required=required, type=FILE, help=data_help),
        click.option(
            "--manifest", type=FILE, help="The survey that --data answers (.json, .yaml)."
        ),
        click.option(
            "--target", metavar="COLUMN", help="For codes without a manifest; 1 is positive."
        ),
        click.option(
            "--protected",
            metavar="COLUMN",
            help="For codes without a manifest; code 1 is privileged, 0 is not.",
        ),
        click.option(
            "--sensitive",
            metavar="COLUMN,...",
            help="For codes without a manifest: the columns to perturb.",
        ),
        click.option(
            "--protocol", type=click.Choice(list(PROTOCOLS)), help=f"The protocol ({terms_help})."
        ),
        click.option(
            "--split",
            type=click.Choice(DRAFT_SPLITS),
            help=f"How epsilon is split over the attributes ({terms_help}).",
        ),
        click.option(
            "--epsilon", metavar="NUMBER", help=f"Total epsilon of one person ({terms_help})."
        ),
    )

    def add(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def read_clear_data(
    data: Path, settings: Mapping[str, Any], ignored: Sequence[str], *, perturbed: bool = True
) -> tuple[Published, Codes]:
    """Read rows in clear, in the terms of a manifest or as codes that get one.

    The settings are the other options that :func:`clear_data_options` adds, None where not given.
    Refuses to go on without an option that is needed (protocol and epsilon, if the rows are to be
    perturbed), and with one that the manifest says.
    """
    if settings["manifest"] is not None:
        refuse(settings, ROLES, "is the manifest's to say")
        terms = {name: settings[name] for name in TERMS}
        published = override(load_manifest(settings["manifest"]), **terms).resolve()
        return published, read_rows(data, published, ignored=ignored)
    for name in (*ROLES, *(("protocol", "epsilon") if perturbed else ())):
        if settings[name] is None:
            raise click.UsageError(
                f"--data without --manifest is a file of codes and needs --{name}"
            )
    header = table_header(data, "data")
    sensitive = read_list(settings["sensitive"], field="--sensitive", names=header)
    codes = read_codes(data, ignored=ignored)
    draft = describe_codes(
        codes,
        name=attribute_name(data.stem)[:NAME_LENGTH],
        target=attribute_name(settings["target"]),
        protected=attribute_name(settings["protected"]),
        sensitive=[attribute_name(name) for name in sensitive],
        # Without perturbation any terms will do that a manifest accepts.
        protocol=settings["protocol"] or "GRR",
        split=settings["split"] or "uniform",
        epsilon=settings["epsilon"] or "64",
    )
    return draft.resolve(), codes


def refuse(settings: Mapping[str, object], names: Iterable[str], reason: str) -> None:
    """Refuse options that were given although they do not belong there, with the reason."""
    for name in names:
        if settings[name] is not None:
            raise click.UsageError(f"--{name.replace('_', '-')} {reason}; leave it out")


@contextmanager
def shown(learner: Learner, options: FitOptions, *, fits: int) -> Iterator[FitOptions]:
    """Show a progress bar over the steps of several fits; yield the options that report to it."""
    with progress(learner.progress_unit, fits * learner.steps) as advance:
        yield replace(options, on_progress=lambda _done, _steps: advance(1))
