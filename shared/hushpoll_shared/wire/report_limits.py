"""How large a report of a survey may be for a request to wait for it; larger ones are jobs."""

from typing import Final

MOST_FIGURES_AT_ONCE: Final = 24
"""Charts, which take a tenth of a second each to draw."""

MOST_PICTURES_AT_ONCE: Final = 48
"""Pictures of its files, of which each option of a select-all has one."""
