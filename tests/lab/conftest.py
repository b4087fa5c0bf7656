"""The small survey of these tests, as fixtures."""

from small_survey import (  # noqa: F401  fixtures
    draft_fixture,
    people,
    perturbed,
    survey,
    write_records,
    write_rows,
)
