"""What a survey promised its respondents, as lines of a sheet of methods."""

from __future__ import annotations

from decimal import Decimal

from hushpoll_protocols import format_epsilon
from hushpoll_protocols.odds import odds_factor
from hushpoll_shared.survey.published import Published


def guarantee(published: Published) -> dict[str, str]:
    """Return the guarantee of a survey version: all answers together, then each attribute."""
    total = Decimal(published.epsilon)
    lines = {
        "survey": f"{published.name} version {published.version}, digest {published.digest}",
        "epsilon": f"{format_epsilon(total)}, of all perturbed answers of a respondent together",
        "odds": "All of them together change the odds of anything about their respondent by at "
        f"most the factor {odds_factor(total, 10) / 10:g}.",
    }
    for attribute in published.attributes:
        how = "sent in clear"
        if attribute.oracle is not None:
            how = f"{attribute.oracle.name}, epsilon {format_epsilon(attribute.oracle.epsilon)}"
        if attribute.block is not None:
            how += f", of the block {attribute.block} of several questions together"
        lines[f"attribute {attribute.name}"] = how
    return {f"guarantee: {name}": value for name, value in lines.items()}
