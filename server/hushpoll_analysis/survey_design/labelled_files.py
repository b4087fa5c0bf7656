"""Records as files of SPSS (.sav) and Stata (.dta), with labels of variables and values.

A variable is what the record has of a question: in clear, and by GRR, the code of a category with
its label; of other protocols 0 or 1 for each category, as a device sent it. What is randomised says
so in its label. A question that was skipped or not asked in clear is a declared missing value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.row_weights import RowWeights
from hushpoll_analysis.records.fields import categories_of, fields_of
from hushpoll_analysis.records.records import Records
from hushpoll_analysis.survey_design.record_weights import (
    STRATUM,
    STRATUM_SIZE,
    WEIGHT,
    RecordWeights,
)
from hushpoll_protocols.errors import InvalidParameter, MissingExtra
from hushpoll_shared.survey.codec import Field
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_shared.survey.wording import Wording
from hushpoll_shared.wire.batch import answered

LabelledFormat = Literal["sav", "dta"]
LABELLED: Final[Mapping[str, str]] = {
    "sav": "application/x-spss-sav",
    "dta": "application/x-stata-dta",
}
"""Media types of the formats."""
MOST_CELLS: Final = 50_000_000
MOST_VARIABLES: Final = 32_000
"""A file of Stata has at most so many; SPSS opens no more in comfort."""
_LONGEST_NAME: Final = 31
_LONGEST_LABEL: Final = 80
"""Characters of a variable's label that Stata shows; in bytes SPSS has 255."""
_MOST_LABEL_BYTES: Final = 250
_MOST_VALUE_BYTES: Final = 120
_MOST_TITLE_BYTES: Final = 64
_TAKEN: Final = frozenset(
    {"all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or", "to", "with", "byte",
     "double", "float", "if", "in", "int", "long", "str", "strl", "using"}
)  # fmt: skip
"""Words of SPSS and Stata that no variable is called by."""


@dataclass
class _Variables:
    """Columns with what is said of them."""

    columns: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    values: dict[str, dict[int, str]] = field(default_factory=dict)
    missing: dict[str, list[int]] = field(default_factory=dict)
    _cut: set[str] = field(default_factory=set)

    def add(self, wanted: str, column: npt.NDArray[Any], label: str) -> str:
        """Add a column; return its name, which both programs can have."""
        name = re.sub(r"[^a-z0-9_]", "_", wanted.lower())
        name = (name if name[:1].isalpha() else f"v_{name}")[:_LONGEST_NAME]
        if name in _TAKEN or re.fullmatch(r"str\d+", name):
            name = f"{name}_"
        number = 2
        while name in self.columns:
            name = f"{name[: _LONGEST_NAME - 5]}_{number}"
            number += 1
        self.columns[name] = column
        (self.labels[name],) = _fitted([label], _LONGEST_LABEL, _MOST_LABEL_BYTES)
        if self.labels[name] != label and self.labels[name] in self._cut:
            end = f"… [{name}]"
            self.labels[name] = _start(label, _LONGEST_LABEL, _MOST_LABEL_BYTES, end)
        self._cut.add(self.labels[name])
        return name


def check_language(published: Published, language: str | None) -> None:
    """Refuse a language that a survey is not in."""
    if language is not None and language not in published.languages:
        known = ", ".join(published.languages) or "none that is named"
        raise InvalidParameter(
            f"language is {language!r}, and the survey is in {known}; give one of them",
            field="language",
        )


def check_labelled(published: Published, rows: int, content: str, language: str | None) -> None:
    """Raise what :func:`write_labelled` would raise for so many records."""
    _pyreadstat()
    check_language(published, language)
    columns = sum(1 for _ in _names(published, content))
    if columns > MOST_VARIABLES:
        raise InvalidParameter(
            f"content is {content!r}, of which the survey has {columns:,} variables, and such a "
            f"file has at most {MOST_VARIABLES:,}; export parquet",
            field="content",
        )
    if rows * columns > MOST_CELLS:
        raise InvalidParameter(
            f"format is for files of at most {MOST_CELLS:,} cells, and {rows:,} records of "
            f"{columns} variables have more; export parquet",
            field="format",
        )


def write_labelled(
    records: Records,
    path: Path,
    *,
    format: LabelledFormat,
    content: str = "records",
    language: str | None = None,
    weights: RecordWeights | None = None,
) -> None:
    """Write records as a file of SPSS or Stata.

    All records are in memory, and a file that is there is replaced. The content is ``records``, a
    variable for what was reported; ``indicators``, 0 or 1 for each category; or ``debiased``, the
    weights of a record in our estimates, whose means are our shares, and what was reported in
    clear. Weights become the variables weight, stratum and stratum_size. See :func:`check_labelled`
    for what is refused.
    """
    published = records.published
    check_labelled(published, len(records), content, language)
    import pandas as pd  # slow to import, and the server imports this module at its start

    words = published.wording(language)
    made = _Variables()
    if weights is not None:
        _weights(made, records, weights)
    if content == "records":
        for one in published.layout.fields:
            _reported(made, records, one, words)
    elif content == "indicators":
        for one in published.layout.fields:
            _indicators(made, records, one, words)
    else:
        _debiased(made, records, words)
    frame = pd.DataFrame(made.columns)
    pyreadstat = _pyreadstat()
    label = _start(words.title, _LONGEST_LABEL, _MOST_TITLE_BYTES, "…")
    if format == "sav":
        pyreadstat.write_sav(
            frame,
            str(path),
            file_label=label,
            column_labels=made.labels,
            variable_value_labels=made.values,
            missing_ranges=made.missing,
            variable_measure=dict.fromkeys(made.values, "nominal"),
        )
        return
    # Stata's missing values are letters: .a is skipped, .b is not asked.
    letters = {name: dict(zip(codes, "ab", strict=False)) for name, codes in made.missing.items()}
    values: dict[str, dict[int | str, str]] = {}
    for name, texts in made.values.items():
        of_name = letters.get(name, {})
        values[name] = {of_name.get(code, code): text for code, text in texts.items()}
        if of_name:
            column = frame[name].astype(object)
            frame[name] = column.map(lambda code, known=of_name: known.get(code, code))
    pyreadstat.write_dta(
        frame,
        str(path),
        file_label=label,
        column_labels=made.labels,
        variable_value_labels=values,
        missing_user_values={name: sorted(of.values()) for name, of in letters.items()},
    )


def _names(published: Published, content: str) -> Iterator[str]:
    """Yield a name for each variable of a file."""
    if content == "debiased":
        for attribute in published.attributes:
            if attribute.oracle is None:
                yield attribute.name
            yield from (f"{attribute.name}_{code}" for code in range(attribute.k))
        return
    for one in published.layout.fields:
        if content == "records" and is_code(one):
            yield one.name
        else:
            yield from (f"{one.name}_{n}" for n, _ in enumerate(categories_of(published, one)))


def is_code(one: Field) -> bool:
    """Whether a record has one category of a field, and not a 0 or 1 for each."""
    return one.oracle is None or one.oracle.name == "GRR"


def _reported(made: _Variables, records: Records, one: Field, words: Wording) -> None:
    if not is_code(one):
        _indicators(made, records, one, words)
        return
    published = records.published
    codes = codes_of(records, one)
    randomised = "" if one.oracle is None else "randomised: "
    label = f"{randomised}{_question(published, one, words)}"
    name = made.add(one.name, codes, label)
    texts = categories_in(published, one, words)
    if one.oracle is not None:
        made.values[name] = dict(enumerate(_fitted(texts, _MOST_VALUE_BYTES, _MOST_VALUE_BYTES)))
        return
    attribute = published.attribute(one.name)
    numbers = _numbers(attribute)
    if numbers is not None:
        made.columns[name] = np.asarray(numbers, np.int32)[codes]
    said = dict(zip(numbers or range(len(texts)), texts, strict=True))
    kept = {code: text for code, text in said.items() if text != str(code)}
    fitted = _fitted(list(kept.values()), _MOST_VALUE_BYTES, _MOST_VALUE_BYTES)
    if kept:
        made.values[name] = dict(zip(kept, fitted, strict=True))
    given = (attribute.missing_code, attribute.not_asked_code)
    missing = [list(said)[code] for code in given if code is not None]
    if missing:
        made.missing[name] = missing


def _numbers(attribute: PublishedAttribute) -> list[int] | None:
    """Return the number that each category in clear is; None where they are words.

    What is no number, skipped or not asked, is one less than 0 or than the least number, and less.
    """
    if not all(re.fullmatch(r"0|-?[1-9]\d{0,8}", text) for text in attribute.categories):
        return None
    numbers = [int(text) for text in attribute.categories]
    least = min(0, *numbers)
    return [*numbers, *range(least - 1, least - 1 - (attribute.k - len(numbers)), -1)]


def _indicators(made: _Variables, records: Records, one: Field, words: Wording) -> None:
    published = records.published
    found = of_answering(records, one, lambda part: part.indicators_of(_same(part, one)))
    what = "" if one.oracle is None else "randomised: "
    question = _question(published, one, words)
    for code, text in enumerate(categories_in(published, one, words)):
        made.add(f"{one.name}_{code}", found[:, code], f"{what}{text} ({question})")


def _debiased(made: _Variables, records: Records, words: Wording) -> None:
    published = records.published
    for place, attribute in enumerate(published.attributes):
        (one,) = fields_of(published, [attribute.name])
        name = attribute.name
        if one.oracle is None:
            _reported(made, records, one, words)
        found = of_answering(records, one, partial(_row_weights, name))
        for code, text in enumerate(words.domains[place]):
            label = f"debiased: {text} ({_asked(published, [name], words)})"
            made.add(f"{name}_{code}", found[:, code], label)


def _row_weights(name: str, records: Records) -> npt.NDArray[Any]:
    if not len(records):
        return records.debiased(name)
    return RowWeights.of_records(records, name).rows(records)


_OF_WEIGHTS: Final = {
    WEIGHT: "People for whom a record stands, by the design",
    STRATUM: "Stratum of the design",
    STRATUM_SIZE: "People in the stratum",
}


def _weights(made: _Variables, records: Records, weights: RecordWeights) -> None:
    for wanted, column in weights.columns(records).items():
        name = made.add(wanted, column, _OF_WEIGHTS[wanted])
        if wanted == STRATUM:
            strata = _fitted(list(weights.strata), _MOST_VALUE_BYTES, _MOST_VALUE_BYTES)
            made.values[name] = dict(enumerate(strata))


def of_answering(
    records: Records, one: Field, columns: Callable[[Records], npt.NDArray[Any]]
) -> npt.NDArray[Any]:
    """Return columns of a field; the cells of those who do not answer it are not a number."""
    if one.mask is None:
        return columns(records)
    chosen = answered(records.rows, one)
    found = columns(records.answering(one.questions))
    cells = np.full((len(records), found.shape[1]), np.nan)
    cells[chosen] = found
    return cells


def _same(records: Records, one: Field) -> Field:
    """Return a field as it stands in records of those alone who answer it."""
    return records.published.layout.field(one.name)


def codes_of(records: Records, one: Field) -> npt.NDArray[Any]:
    """Return what was reported in clear, or by GRR, as whole numbers; NaN if not answered."""
    if one.oracle is None:
        return records.codes(one.name).astype(np.int32)
    found = of_answering(records, one, lambda part: part.indicators_of(_same(part, one)))
    codes: npt.NDArray[Any] = found.argmax(axis=1).astype(np.int32)
    if found.dtype.kind == "f":
        codes = np.where(np.isnan(found[:, 0]), np.nan, codes)
    return codes


def _question(published: Published, one: Field, words: Wording) -> str:
    asked = [one.name] if one.block is None else [each.name for each in one.block.questions]
    return _asked(published, asked, words)


def _asked(published: Published, asked: Sequence[str], words: Wording) -> str:
    """Return questions in words; of options or items also what is asked of all of them."""
    names = [attribute.name for attribute in published.attributes]
    own = " & ".join(words.questions[names.index(name)] for name in asked)
    heads = [
        *((of.attributes, head) for of, head in zip(published.selects, words.selects, strict=True)),
        *(
            (of.attributes, head)
            for of, head in zip(published.matrices, words.matrices, strict=True)
        ),
    ]
    return next((f"{own} – {head}" for of, head in heads if {*asked} <= {*of}), own)


def categories_in(published: Published, one: Field, words: Wording) -> list[str]:
    """Return the categories of a field in the words of a language; of a block its combinations."""
    own = list(categories_of(published, one))
    if one.block is None or one.block.alone:
        names = [attribute.name for attribute in published.attributes]
        return list(words.domains[names.index(one.name)])
    return own


def _start(text: str, most: int, most_bytes: int, end: str) -> str:
    """Return a text, or as much of its start as fits before `end`."""
    if len(text) <= most and len(text.encode()) <= most_bytes:
        return text
    left = most_bytes - len(end.encode())
    kept = text[: most - len(end)].encode()[: max(left, 0)].decode(errors="ignore")
    return f"{kept}{end}"


def _fitted(texts: Sequence[str], most: int, most_bytes: int) -> list[str]:
    """Return texts that fit; those that are the same after cutting end with their place."""
    cut = [_start(text, most, most_bytes, "…") for text in texts]
    return [
        _start(text, most, most_bytes, f"… [{place}]") if cut.count(short) > 1 else short
        for place, (text, short) in enumerate(zip(texts, cut, strict=True), start=1)
    ]


def _pyreadstat() -> Any:
    try:
        import pyreadstat
    except ImportError as error:
        raise MissingExtra("labels", "a file of SPSS or Stata") from error
    return pyreadstat
