"""How large the JSON body of a request may be, by what it describes.

A body is parsed and checked on one thread of the web process, and other requests wait for their
turn of the interpreter meanwhile. So a request that names a few things has little room.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from hushpoll_server.config.settings import Settings

SMALL_BYTES: Final = 2**16
# 65,536 cells of several attributes, by their names, in margins, strata and weights.
DESIGN_BYTES: Final = 2**22
# Address, name and language of a person who is invited; the texts of the mails in all languages.
PERSON_BYTES: Final = 512
TEXTS_BYTES: Final = 2**20


class BodySize(Enum):
    """What a body describes, as the attribute ``BODY`` of its model says."""

    SMALL = auto()
    DESIGN = auto()
    MANIFEST = auto()
    PEOPLE = auto()

    def most(self, settings: Settings) -> int:
        """Return the largest body, in bytes; never more than that of any request."""
        match self:
            case BodySize.SMALL:
                size = SMALL_BYTES
            case BodySize.DESIGN:
                size = DESIGN_BYTES
            case BodySize.MANIFEST:
                # JSON that spells other letters by escapes takes about twice as many bytes.
                size = 2 * settings.max_manifest_bytes + SMALL_BYTES
            case BodySize.PEOPLE:
                size = settings.max_tokens * PERSON_BYTES + TEXTS_BYTES
        return min(size, settings.max_body_bytes)
