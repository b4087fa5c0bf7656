"""The reports of misbehaving respondents: fake records that move an estimate, and unknown versions.

No server can refuse a well-formed record that was never randomised. This is the price of local
differential privacy for an honest survey (Cheu, Smith and Ullman, "Manipulation Attacks in Local
Differential Privacy", S&P 2021; Cao, Jia and Gong, "Data Poisoning Attacks to Local Differential
Privacy Protocols", USENIX Security 2021). The fleet sends such reports so that their effect can be
seen.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Collection, Mapping

from hushpoll_client import Published
from hushpoll_fleet.behaviour.plan import Behaviour
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.record_forms import pack
from hushpoll_shared.reading.pairs import read_pair


def targets_of(published: Published, texts: tuple[str, ...]) -> dict[str, int]:
    """Read the categories to push, as codes.

    Parameters
    ----------
    texts : tuple of str
        ``ATTRIBUTE=CATEGORY`` each.

    Raises
    ------
    InvalidParameter
        Unknown attribute or category, or an attribute that is not perturbed.
    """
    perturbed = {entry.name: entry for entry in published.attributes if entry.oracle is not None}
    targets = {}
    for text in texts:
        name, category = read_pair(text, field="target", form="ATTRIBUTE=CATEGORY", names=perturbed)
        attribute = perturbed.get(name)
        if attribute is None:
            raise InvalidParameter(
                f"target is {text!r}; give ATTRIBUTE=CATEGORY with an attribute out of "
                f"{', '.join(perturbed)}",
                field="target",
            )
        if attribute.block is not None:
            raise InvalidParameter(
                f"target is {text!r}, and {name} is randomised together with others, in the block "
                f"{attribute.block}; push an answer to a question that is in no block",
                field="target",
            )
        if attribute.number is not None and category not in attribute.domain:
            raise InvalidParameter(
                f"target is {text!r}, and {name} is a number; push one of its anchors: "
                f"{', '.join(attribute.domain)}",
                field="target",
            )
        number = attribute.number is not None
        targets[name] = attribute.domain.index(category) if number else attribute.code(category)
    return targets


def poisoned(
    published: Published,
    behaviour: Behaviour,
    answers: Mapping[str, str | int | Collection[str] | None],
    *,
    targets: Mapping[str, int],
    rng: random.Random,
) -> bytes:
    """Return the record of one poisoner.

    Parameters
    ----------
    behaviour : Behaviour
        ``poison-maximal`` or ``poison-random``.
    answers : mapping
        Its answers in clear; those to perturbed attributes are not used.
    targets : mapping of str to int
        Code to push, for every block; of a draw those that come first here are answered.
    rng : random.Random
        Source of everything that the aim leaves free.
    """
    codes = published.layout.code_answers(answers)
    first = list(targets) if behaviour is Behaviour.POISON_MAXIMAL else []
    chosen: set[str] = set()
    parts = []
    for field in published.layout.fields:
        if field.mask is not None and field.name == field.mask.draw.blocks[0]:
            blocks = field.mask.draw.blocks
            order = sorted(blocks, key=first.index) if first else rng.sample(blocks, len(blocks))
            chosen = set(order[: field.mask.draw.answer])
            parts.append(pack(map(blocks.index, chosen), len(blocks)))
        if field.mask is not None and field.name not in chosen:
            parts.append(bytes(field.size))
        elif field.oracle is None:
            parts.append(codes[field.name].to_bytes(field.size, "little"))
        elif behaviour is Behaviour.POISON_MAXIMAL:
            parts.append(field.oracle.singling_out(targets[field.name], rng))
        else:
            parts.append(field.oracle.form.arbitrary(rng))
    return b"".join(parts)


def other_digest(digest: str) -> str:
    """Return the digest of a version that is not published anywhere."""
    return hashlib.sha256(f"no version of {digest}".encode()).hexdigest()
