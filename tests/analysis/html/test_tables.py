"""Tables by their macro: columns declared once, and cells that say theirs in a narrow window."""

from __future__ import annotations

import pytest
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from hushpoll_analysis.html import TEMPLATES

COLUMNS = [
    "Survey",
    ("State", "text", "state"),
    '“A "b" & <c>”',
    ("Interval", "range"),
    ("Act", "act"),
]
START = '{% import "tables.html" as tables %}'


@pytest.fixture(scope="module")
def drawn():
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined
    )

    def draw(rows, columns=COLUMNS, label='"Surveys"', **values):
        text = f"{START}{{% call(row) tables.table({label}, columns) %}}{rows}{{% endcall %}}"
        return environment.from_string(text).render(columns=columns, **values)

    return draw


def test_heading_and_cells_have_what_their_column_declares(drawn):
    html = drawn('{{ row("One", "open", 3, "2 to 4", "x", live="7") }}')
    assert '<div class="wide" role="region" aria-label="Surveys" tabindex="0"><table>' in html
    assert '<th scope="col">Survey</th><th scope="col" class="text">State</th>' in html
    assert '<th scope="col" class="text"><span class="unseen">Act</span></th>' in html
    assert '<tr><th scope="row">One</th>' in html
    assert '<td class="text" data-column="State" data-live="7-state">open</td>' in html
    assert '<td class="range" data-column="Interval">2 to 4</td>' in html
    # What is read aloud alone is not written before the buttons.
    assert '<td class="text" data-column="">x</td>' in html


def test_column_is_named_in_words_and_cells_are_escaped(drawn):
    html = drawn('{{ row("<i>", "open", 3, "", "") }}')
    assert '<td data-column="“A &#34;b&#34; &amp; &lt;c&gt;”">3</td>' in html
    assert '<th scope="row">&lt;i&gt;</th>' in html
    assert "<i>" not in html
    assert "<c>" not in html


def test_cell_over_several_columns_says_none(drawn):
    html = drawn('{{ row("Rest", "1", rest="The files have all.") }}')
    assert '<td colspan="3">The files have all.</td></tr>' in html


def test_cells_below_a_heading_of_two_columns_are_called_by_it_once(drawn):
    """The interval of the first group was once called by the name of the second."""
    columns = ["Answer", ("Women", "pair"), (None, "range"), ("Men", "pair"), (None, "range")]
    html = drawn('{{ row("Yes", 1, "0 to 2", 3, "2 to 4") }}', columns)
    assert '<th scope="col" colspan="2">Women</th><th scope="col" colspan="2">Men</th>' in html
    assert '<td data-column="Women">1</td><td class="range">0 to 2</td>' in html
    assert '<td data-column="Men">3</td><td class="range">2 to 4</td></tr>' in html


def test_table_on_paper_does_not_scroll_and_its_cells_say_no_column(drawn):
    html = drawn("{{ row(1, 2) }}", ["a", ("b", "number")], "none")
    assert html.strip().startswith("<table>")
    assert "data-column" not in html
    assert '<td class="number">2</td>' in html


def test_row_without_a_heading_has_cells_alone(drawn):
    assert '<th scope="row"' not in drawn("{{ row(1, 2, headed=false) }}", ["a", "b"])
