"""A report made again from its bundle, without a server, and compared with what the bundle has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final

from jinja2 import TemplateError

from hushpoll_protocols.errors import HushpollError
from hushpoll_server.charts.drawing import Drawing
from hushpoll_server.survey_reports.files.bundle import files_of, no_bundle, read_bundle
from hushpoll_server.survey_reports.files.report import FORMS, Report


@dataclass(frozen=True)
class Remade:
    """A report that was made again, from the bundle's manifest and counts alone."""

    report: Report
    same: tuple[str, ...]
    """Paths of the bundle's files that were made again, to the last byte."""
    different: tuple[str, ...]
    """Those of which this machine makes other bytes, or that the bundle lacks."""
    versions: tuple[str, ...]
    """Programs of another version than those that made the bundle, in words."""

    def file(self, form: str) -> bytes:
        """Return the report as a file of a form of ``FORMS``; raises as its maker."""
        return FORMS[form].make(self.report)


@contextmanager
def remade(data: bytes) -> Iterator[Remade]:
    """Make a bundle's report again, for as long as the block needs it; raises as `read_bundle`."""
    basis, files = read_bundle(data)
    drawing = Drawing()
    try:
        report = Report(basis, lambda specification: drawing.draw(specification, "svg"))
        own = _files(report)
        same = tuple(path for path in sorted(own) if files.get(path) == own[path])
        others = tuple(
            f"{program} {made} there, {version(program)} here"
            for program, made in sorted(basis.facts["made_with"].items())
            if program in _PROGRAMS and version(program) != made
        )
        yield Remade(report, same, tuple(sorted(set(own) - set(same))), others)
    finally:
        drawing.stop()


def _files(report: Report) -> dict[str, bytes]:
    """Return the files of a report whose facts may be of any form."""
    try:
        return files_of(report.basis, report.results, report.figures, report.html)
    except HushpollError:
        raise
    except (*WRONG_FORM, TemplateError) as error:
        raise no_bundle() from error


# What a document of another form than expected raises where it is used.
WRONG_FORM: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)

# The distributions whose versions a bundle names; its words are not looked up.
_PROGRAMS = frozenset({"hushpoll", "numpy", "vl-convert-python"})
