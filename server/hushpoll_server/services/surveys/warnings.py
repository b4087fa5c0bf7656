"""What the author of a survey should know before respondents see it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from hushpoll_analysis.estimates.precision import protected_width, respondents_for_width
from hushpoll_shared.survey.protection import weak_protection
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_shared.survey.questions.domain_size import QUOTED_REPORTS, too_fine
from hushpoll_shared.survey.randomization.blocks import Block
from hushpoll_shared.survey.terms import IMMEDIATE, SMALL_BATCH

# A protocol that spends less than this share of its epsilon buys accuracy with none of the rest.
UNSPENT_SHARE = Decimal("0.9")


@dataclass(frozen=True)
class PublishingWarning:
    """A warning, which does not stop publishing; without an attribute it is about several."""

    code: str
    attribute: str | None
    message: str


# The half-width of the protected attribute's interval, two points of a hundred, for which the
# number of reports is quoted.
QUOTED_HALF_WIDTH = 0.02


def publishing_warnings(
    published: Published, *, expected: int | None = None
) -> tuple[PublishingWarning, ...]:
    """Return the warnings of a survey, for so many expected respondents if that is known.

    They are about weak protection, attributes in clear, the width of the protected attribute's
    intervals, epsilon that is not spent, questions with more answers than can be told apart, terms
    under which an analyst can single out a report, and devices on which a person can answer several
    times.
    """
    warnings = [
        PublishingWarning("weak-protection", weakness.attribute, weakness.message)
        for weakness in weak_protection(published)
    ]
    warnings.extend(_clear([one for one in published.attributes if not one.perturbed]))
    warnings.extend(_width(published))
    for block in published.blocks:
        warnings.extend(_unspent(block))
    for attribute in published.attributes:
        fine = too_fine(attribute, expected or max(QUOTED_REPORTS, published.minimum_batch))
        if fine is not None:
            warnings.append(PublishingWarning("too-many-categories", attribute.name, fine.message))
    warnings.extend(_singled_out(published))
    warnings.extend(_shared(published))
    return tuple(warnings)


def _clear(attributes: list[PublishedAttribute]) -> list[PublishingWarning]:
    """Return one warning of all attributes in clear."""
    if not attributes:
        return []
    *others, last = (f"{one.name} ({one.role})" for one in attributes)
    listed = f"{', '.join(others)} and {last}" if others else last
    if len(attributes) == 1:
        words = (
            f"{listed} leaves the device in clear: epsilon does not cover it, and it can betray "
            "sensitive answers that go together with it; make it sensitive, or drop it if it is "
            "not needed"
        )
        return [PublishingWarning("clear-attribute", attributes[0].name, words)]
    words = (
        f"answers that leave the device in clear: {listed}; epsilon does not cover them, and they "
        "can betray sensitive answers that go together with them; make them sensitive, or drop "
        "what is not needed"
    )
    return [PublishingWarning("clear-attribute", None, words)]


def _width(published: Published) -> list[PublishingWarning]:
    expected = protected_width(published, QUOTED_REPORTS)
    if expected is None:
        return []
    name = expected.attribute
    needed = respondents_for_width(published, name, 2 * QUOTED_HALF_WIDTH)
    return [
        PublishingWarning(
            "protected-width",
            name,
            f"with {QUOTED_REPORTS:,} reports, the {100 * expected.confidence:g} % interval of a "
            f"share of {name} will be up to ±{50 * expected.width:.3g} percentage points; "
            f"±{100 * QUOTED_HALF_WIDTH:g} takes {needed:,} reports"
            + _more_epsilon(published, name),
        )
    ]


def _more_epsilon(published: Published, name: str) -> str:
    """Return the remedy for a wide interval; an attribute in clear has no part of epsilon."""
    if published.attribute(name).oracle is None:
        return ""
    return f"; give {name} a larger part of epsilon if that is too many"


def _unspent(block: Block) -> list[PublishingWarning]:
    oracle = block.oracle
    if oracle.realized_epsilon >= UNSPENT_SHARE * oracle.epsilon:
        return []
    return [
        PublishingWarning(
            "epsilon-unspent",
            block.name,
            f"{oracle.name} spends {oracle.realized_epsilon:.3f} of the epsilon "
            f"{oracle.epsilon:f} given to {block.name}; another protocol would use the rest "
            "for accuracy",
        )
    ]


def _reports(number: int) -> str:
    return f"{number} report" if number == 1 else f"{number} reports"


def _singled_out(published: Published) -> list[PublishingWarning]:
    warnings = []
    if published.release == IMMEDIATE:
        warnings.append(
            PublishingWarning(
                "release-immediate",
                None,
                "release: immediate gives analysts each report soon after it came: an analyst who "
                "asks before and after, and sends "
                f"{_reports(published.minimum_batch - 1)} of their own, can single it out, with "
                "its answers in clear and its time; it is for trials, and a survey of real people "
                "releases daily, weekly or at its end",
            )
        )
    if published.minimum_batch < SMALL_BATCH:
        warnings.append(
            PublishingWarning(
                "small-minimum-batch",
                None,
                f"minimum_batch is {published.minimum_batch}: a release of so few reports tells "
                f"much about each of them; declare at least {SMALL_BATCH}",
            )
        )
    return warnings


def _shared(published: Published) -> list[PublishingWarning]:
    if not published.shared_device:
        return []
    return [
        PublishingWarning(
            "shared-device",
            None,
            "shared_device lets several people answer on one device, and nothing tells there "
            "whether it is another person: who answers again spends epsilon again and counts "
            "twice; leave it out unless people share devices, or hand out tokens "
            "(submission: token)",
        )
    ]
