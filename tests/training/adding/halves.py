"""An encoding that is added: one half in the place of one."""

from __future__ import annotations

from dataclasses import dataclass

from hushpoll_training.encodings.encoding import Encoding


@dataclass(frozen=True)
class Halves(Encoding):
    name = "halves"
    description = "one column per category: one half where the record supports it"

    def encode(self, attribute, indicators, prior):
        return indicators / 2
