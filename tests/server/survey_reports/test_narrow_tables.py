"""Tables that a narrow window shows as lists."""

from __future__ import annotations

from hushpoll_server.survey_reports.markup.narrow_tables import with_columns

HEAD = (
    '<thead><tr><th scope="col">Survey</th><th scope="col" class="text">State</th>'
    '<th scope="col"><bdi>“A &#34;b&#34;”</bdi></th>'
    '<th scope="col"><span class="unseen">Act</span></th></tr></thead>'
)


def table(rows):
    return f'<table class="roomy">\n{HEAD}\n<tbody>{rows}</tbody></table>'


def test_each_cell_says_its_column():
    row = '<tr><th scope="row">One</th><td class="text">open</td><td>3</td><td>x</td></tr>'
    html = with_columns(f"<p>before</p>{table(row)}<p>after</p>")
    assert html.startswith("<p>before</p>")
    assert html.endswith("<p>after</p>")
    assert '<td class="text" data-column="State">open</td>' in html
    assert '<td data-column="“A &#34;b&#34;”">3</td>' in html
    assert '<td data-column="">x</td>' in html
    assert '<th scope="row">One</th>' in html
    assert HEAD in html


def test_cell_over_several_columns_and_table_without_a_head_stay():
    over = table('<tr><th scope="row">Rest</th><td colspan="2">The files have all.</td></tr>')
    plain = "<table><tbody><tr><th>a</th><td>1</td></tr></tbody></table>"
    assert with_columns(over + plain) == over + plain


def test_cell_beyond_the_columns_has_none():
    cells = "".join(f"<td>{n}</td>" for n in range(4))
    html = with_columns(table(f'<tr><th scope="row">x</th>{cells}</tr>'))
    assert html.count("data-column") == 3


def test_table_whose_headings_are_links_stays():
    linked = (
        '<table><thead><tr><th scope="col">Setting</th>'
        '<th scope="col"><a href="/1">Model 1</a></th>'
        '</tr></thead><tbody><tr><th scope="row">x</th><td>3</td></tr></tbody></table>'
    )
    assert with_columns(linked) == linked


def test_cells_below_a_heading_of_two_columns_are_called_by_it_once():
    """The interval of the first group was once called by the name of the second."""
    html = with_columns(
        '<table><thead><tr><th scope="col">Answer</th><th scope="col" colspan="2">Women</th>'
        '<th scope="col" colspan="2">Men</th></tr></thead><tbody><tr><th scope="row">Yes</th>'
        "<td>1</td><td>0 to 2</td><td>3</td><td>2 to 4</td></tr></tbody></table>"
    )
    cells = '<td data-column="Women">1</td><td>0 to 2</td><td data-column="Men">3</td>'
    assert f"{cells}<td>2 to 4</td>" in html
