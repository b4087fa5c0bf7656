"""Which groups in clear a reader may see: small ones merged, until no figure is about few reports.

A reader without the right to export sees groups of at least ``smallest`` reports, so merged that no
figures together tell of fewer (:mod:`hushpoll_analysis.records.merging`), and only once the end of
collection is reached: a figure that changed from one release to the next would tell of the reports
that came between.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.counts import PairCounts
from hushpoll_analysis.records.merging import Merging, Places, countable, members_of
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.spelling.text import CATEGORY_LENGTH, QUESTION_LENGTH
from hushpoll_shared.survey.option_texts import asked_text
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_shared.survey.questions.follow_ups import NOT_ASKED

SMALLEST: Final = 10
"""Reports of the smallest group that is shown, unless a server sets another number."""

_MOST_NAMED: Final = 8


@dataclass(frozen=True, kw_only=True, repr=False)
class Regrouped(Published):
    """A survey as a reader sees it; it has the digest of what was published.

    It could not be published itself: a follow-up may name a router that is not shown, or categories
    that are merged.
    """

    published_digest: str
    """The digest of the survey with all its categories."""

    def __post_init__(self) -> None:
        """Check nothing: the rules of a survey held when it was published."""

    @cached_property
    def digest(self) -> str:
        """The digest of what was published, to which results belong."""
        return self.published_digest


@dataclass(frozen=True, kw_only=True, eq=False)
class ClearGroups:
    """What a reader without the right to export sees of a survey's attributes in clear."""

    published: Published
    smallest: int
    """Reports of the smallest group that is shown."""
    places: Mapping[str, Places]
    """int64[k] by attribute in clear that is shown: the group of each of its categories, 0, 1 and
    so on in the order of their first categories."""
    apart: frozenset[tuple[str, str]] = frozenset()
    """Pairs of them, in the order of the manifest, whose table has a cell of too few reports."""
    ended: bool = True
    """Whether the end of collection is reached; before it no attribute in clear is shown."""
    inside: bool = False
    """Whether it is about the reports of one group, where no further attribute in clear is
    shown."""
    unasked: tuple[str, ...] = ()
    """Attributes in clear that nobody asked for."""

    @classmethod
    def before_the_end(cls, published: Published, smallest: int) -> ClearGroups:
        """Return what is seen while reports can still come: no attribute in clear."""
        return cls(published=published, smallest=smallest, places={}, ended=False)

    @classmethod
    def of(cls, published: Published, counts: PairCounts, smallest: int) -> ClearGroups:
        """Return the groups that counts of all reports allow; `smallest` 1 merges nothing."""
        clear = {one.name: np.arange(one.k) for one in published.clear}
        if smallest <= 1:
            return cls(published=published, smallest=smallest, places=clear)
        groups = Merging(counts, countable(published, clear), smallest)
        groups.merge_small()
        groups.merge_revealing()
        return cls(
            published=published,
            smallest=smallest,
            places={
                one.name: groups.places[one.name]
                for one in published.clear
                if one.name in groups.places
            },
            apart=frozenset(groups.apart()),
        )

    def only(self, names: Collection[str]) -> ClearGroups:
        """Return the same of some attributes alone, so that it tells nothing of others."""
        return replace(
            self,
            places={name: places for name, places in self.places.items() if name in names},
            apart=frozenset(pair for pair in self.apart if {*pair} <= {*names}),
            unasked=tuple(one.name for one in self.published.clear if one.name not in names),
        )

    @property
    def hidden(self) -> tuple[str, ...]:
        """The attributes in clear that are not shown."""
        return tuple(one.name for one in self.published.clear if one.name not in self.places)

    @cached_property
    def merged(self) -> dict[str, list[list[int]]]:
        """By attribute that has some: the codes of each group of several categories."""
        found = {
            name: [one for one in members_of(places) if len(one) > 1]
            for name, places in self.places.items()
        }
        return {name: groups for name, groups in found.items() if groups}

    @cached_property
    def shown(self) -> Published:
        """The survey with the merged categories, and without the attributes that are not shown."""
        if not self.hidden and not self.merged:
            return self.published
        attributes = tuple(
            self._regrouped(one) for one in self.published.attributes if one.name not in self.hidden
        )
        own = self.published.protected
        whole = own is None or own.attribute not in {*self.hidden, *self.merged}
        values: dict[str, Any] = {
            one.name: getattr(self.published, one.name) for one in fields(Published)
        }
        values |= {
            "attributes": attributes,
            "selects": tuple(one for one in self.published.selects if self._stand(one.attributes)),
            "matrices": tuple(
                one for one in self.published.matrices if self._stand(one.attributes)
            ),
            "protected": own if whole else None,
            "translations": (),
            "published_digest": self.published.digest,
        }
        return Regrouped(**values)

    def _stand(self, names: Iterable[str]) -> bool:
        """Return whether questions that stand together are shown as they were asked."""
        return all(self.whole(name) for name in names)

    def _regrouped(self, attribute: PublishedAttribute) -> PublishedAttribute:
        lists = [one.attributes for one in self.published.selects]
        lists += [one.attributes for one in self.published.matrices]
        for names in lists:
            if attribute.name in names and not self._stand(names):
                text = asked_text(self.published, attribute.name)
                attribute = replace(attribute, question=text[:QUESTION_LENGTH])
        if attribute.name not in self.merged:
            return attribute
        labels: list[str] = []
        for members in members_of(self.places[attribute.name]):
            label = _label([attribute.domain[code] for code in members])
            while label in labels or (len(members) > 1 and label in attribute.domain):
                label = f"{label[: CATEGORY_LENGTH - 2]} *"
            labels.append(label)
        # Those of who was not asked, and of who did not answer, come last where they stand alone.
        ask_if = attribute.ask_if if labels[-1] == NOT_ASKED and len(labels) > 2 else None
        if ask_if is not None:
            labels.pop()
        missing = attribute.missing if labels[-1] == attribute.missing and labels[1:] else None
        if missing is not None:
            labels.pop()
        return replace(
            attribute,
            categories=tuple(labels),
            missing=missing,
            ask_if=ask_if,
            positive=attribute.positive if attribute.positive in labels else None,
            scale=None,
            ends=None,
            number=None,
            shuffle=None,
        )

    def codes_of(self, name: str, mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return which categories are in the groups of a mask; all or none of those of a group."""
        return mask[self.places[name]]

    def within(self) -> ClearGroups:
        """Return what is seen within a group: no further attribute in clear."""
        return replace(self, places={}, apart=frozenset(), inside=True)

    def meets(self, a: str, b: str) -> bool:
        """Return whether a table of two attributes may be seen."""
        return (a, b) not in self.apart and (b, a) not in self.apart

    def whole(self, name: str) -> bool:
        """Return whether all categories of an attribute, in clear or not, may be seen."""
        return name not in self.hidden and name not in self.merged

    def require(self, name: str, *, field: str) -> None:
        """Refuse an attribute that is not shown."""
        if name in self.hidden:
            raise InvalidParameter(f"{self._why_hidden(name)}; {self.remedy}", field=field)

    def why_not_kept(self, names: Collection[str], *, complete: bool) -> str | None:
        """Return why a result that was kept is not shown, as it knows of no merged groups.

        It is None where it may be shown: where it is about all reports that will ever be
        (`complete`), groups in clear are shown anyway.
        """
        clear = [one.name for one in self.published.clear if one.name in names]
        listed = _listed(clear) if clear else ""
        if not clear:
            return None
        if not self.ended or not complete:
            return (
                f"this result is about groups by {listed}, answered in clear, and was made before "
                "the end of collection was reached; readers without the right to export see groups "
                "in clear as they are at the end"
            )
        if len(clear) > 1:
            return (
                f"this result is about groups by {listed}, all of them answered in clear; readers "
                "without the right to export do not see it, because all together can leave few "
                "reports"
            )
        if not self.whole(clear[0]):
            return (
                f"this result is about groups by {listed}, answered in clear, some of which are "
                f"merged for readers without the right to export, because {self._reason}"
            )
        return None

    @property
    def remedy(self) -> str:
        """What a reader can do who needs more."""
        return (
            "leave it out, or ask an administrator for the role analyst in "
            f"{self.published.name}, which may export the records"
        )

    def _why_hidden(self, name: str) -> str:
        if self.inside:
            return (
                f"{name} is answered in clear, and within a group in clear readers without the "
                "right to export see no other one, because both together can leave few reports"
            )
        if not self.ended:
            return (
                f"{name} is answered in clear, and readers without the right to export see its "
                "groups once the end of collection is reached"
            )
        return (
            f"{name} is answered in clear, and is not shown to readers without the right to "
            f"export, because {self._reason}"
        )

    @property
    def _reason(self) -> str:
        return (
            "its categories could not be grouped so that all figures together tell of no fewer "
            f"than {self.smallest} reports"
        )

    def sentences(self) -> tuple[str, ...]:
        """Return what was merged or withheld, in words; none where nothing was."""
        return tuple(self._sentences())

    def _sentences(self) -> Iterator[str]:
        if self.inside:
            if self.hidden:
                yield (
                    "Within a group in clear, readers without the right to export see no other "
                    "attribute in clear, because both together can leave few reports."
                )
            return
        hidden = [name for name in self.hidden if name not in self.unasked]
        if not self.ended and hidden:
            yield (
                f"Answered in clear: {_listed(hidden)}. Readers without the right to export "
                "see groups by such answers once the end of collection is reached."
            )
            return
        shown = {one.name: one for one in self.shown.attributes}
        for name, groups in self.merged.items():
            domain = self.published.attribute(name).domain
            together = "; ".join(
                shown[name].domain[int(self.places[name][codes[0]])]
                if len(codes) <= _MOST_NAMED
                else _listed(
                    [domain[code] for code in codes[:_MOST_NAMED]], len(codes) - _MOST_NAMED
                )
                + " together"
                for codes in groups
            )
            yield (
                f"Groups of {name} are merged: {together}. Readers without the right to export "
                f"see no group of fewer than {self.smallest} reports, and none by which figures "
                "together would tell of fewer."
            )
        if len(hidden) == 1:
            yield f"{hidden[0]} is left out, because {self._reason}."
        elif hidden:
            reason = self._reason.replace("its", "their", 1)
            yield f"{_listed(hidden)} are left out, because {reason}."
        for a, b in sorted(self.apart):
            yield f"{self.no_table(a, b)[:1].upper()}{self.no_table(a, b)[1:]}."

    def no_table(self, a: str, b: str) -> str:
        """Return the words that say that the table of two attributes is not shown."""
        return (
            f"there is no table of {a} and {b} for readers without the right to export, because "
            f"one of its cells has fewer than {self.smallest} reports, all of them in clear"
        )

    def to_dict(self) -> JsonMembers:
        """Return all but the survey as JSON."""
        return {
            "smallest": self.smallest,
            "ended": self.ended,
            "unasked": list(self.unasked),
            "places": {name: places.tolist() for name, places in self.places.items()},
            "apart": [list(pair) for pair in sorted(self.apart)],
        }

    @classmethod
    def from_dict(cls, published: Published, document: Mapping[str, Any]) -> ClearGroups:
        """Return the groups that `to_dict` gave of this survey; refuses those of another."""
        clear = {one.name: one.k for one in published.clear}
        places = {name: np.asarray(given) for name, given in document["places"].items()}
        apart = frozenset((a, b) for a, b in document["apart"])
        smallest, ended = document["smallest"], document["ended"]
        unasked = tuple(document["unasked"])
        for name, given in places.items():
            first = np.unique(given, return_index=True)[1]
            fits = (
                name in clear
                and given.shape == (clear[name],)
                and given.dtype.kind == "i"
                and np.array_equal(given[np.sort(first)], np.arange(len(first)))
                and len(first) > 1
            )
            if not fits:
                break
        else:
            known = {*sum(apart, ())} <= {*places} and {*unasked} <= {*clear} - {*places}
            if type(smallest) is int and type(ended) is bool and known:
                return cls(
                    published=published,
                    smallest=smallest,
                    places=places,
                    apart=apart,
                    ended=ended,
                    unasked=unasked,
                )
        raise InvalidParameter(
            "the groups in clear are not those of this survey; take them from the same bundle as "
            "the manifest",
            field="groups",
        )


def _label(categories: Sequence[str]) -> str:
    """Return the name of a group, such as ``A, B and C together``."""
    if len(categories) == 1:
        return categories[0]
    for named in range(min(len(categories), _MOST_NAMED), 0, -1):
        label = f"{_listed(categories[:named], len(categories) - named)} together"
        if len(label) <= CATEGORY_LENGTH:
            return label
    return f"{len(categories)} categories together"


def _listed(names: Sequence[str], more: int = 0) -> str:
    *others, last = [*names, *([f"{more} more"] if more else [])]
    return f"{', '.join(others)} and {last}" if others else last
