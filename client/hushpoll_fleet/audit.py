"""Epsilon measured from outside: how far a device's records tell two answers apart.

For two answers v and w, the event "the record supports v and not w" is the one whose chances differ
most between a person who answered v and one who answered w: by the whole factor e^epsilon. Where a
question has several fields of the record, the event is that of all of them at once; of a draw it is
that of all blocks that were chosen, and each choice is an event of its own, so that a device which
chooses by the answers is told from one that does not. From how
often it happened under each, Clopper and Pearson's exact bounds (Biometrika 26, 1934) give a lower
bound on ln of that factor. A device that keeps to its epsilon stays below it, but for an agreed
chance alpha.
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from importlib import resources
from itertools import combinations, permutations, product
from typing import Any, Final

from hushpoll_client import Published, randomize
from hushpoll_protocols import SecureBits
from hushpoll_protocols.errors import HushpollError, InvalidParameter, MissingExtra, refusal_of
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject

CATEGORIES: Final = 4
FEWEST_DRAWS: Final = 1_000
MOST_DRAWS: Final = 100_000_000
# Records that are held and counted at a time.
_ROWS: Final = 200_000


@dataclass(frozen=True, slots=True)
class Finding:
    """What an audit of one device and one protocol found."""

    sdk: str
    protocol: str
    epsilon: float
    realized_epsilon: float
    """What the protocol's exact law spends."""

    draws: int
    """Half of them for each of two answers."""

    lower_bound: float
    """On the epsilon that the device really spends, at confidence 1 - alpha."""

    reachable: float
    """The lower bound that a device which spends `realized_epsilon` is expected to show."""

    alpha: float
    """Chance of finding more than is spent."""

    @property
    def overspends(self) -> bool:
        """Whether the device was shown to spend more than its law."""
        return self.lower_bound > self.realized_epsilon

    @property
    def share(self) -> float:
        """The bound over the realised epsilon: how sharp the audit was."""
        return self.lower_bound / self.realized_epsilon

    def to_dict(self) -> JsonMembers:
        """Return the finding as JSON."""
        return {**asdict(self), "share": self.share, "overspends": self.overspends}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of question that is audited, and the two answers whose records are told apart."""

    words: str
    """What is audited, in words."""

    questions: JsonObject
    """The manifest's attributes and what joins them; the randomised value has `CATEGORIES` values.
    """

    answers: tuple[JsonObject, JsonObject]


def _question(name: str, k: int, **more: Any) -> JsonMembers:
    categories = [f"answer {code}" for code in range(k)]
    return {"name": name, "role": "sensitive", "categories": categories} | more


_BLOCK: Final = [{"name": "block", "attributes": ["answer", "other"]}]

_DRAWN: Final = ("first", "second", "third")

KINDS: Final[Mapping[str, Kind]] = {
    "alone": Kind(
        "one question",
        {"attributes": [_question("answer", CATEGORIES)]},
        ({"answer": "answer 0"}, {"answer": "answer 1"}),
    ),
    "together": Kind(
        "two questions that are randomised together",
        {"attributes": [_question("answer", 2), _question("other", 2)], "together": _BLOCK},
        (
            {"answer": "answer 0", "other": "answer 0"},
            {"answer": "answer 0", "other": "answer 1"},
        ),
    ),
    "follow-up": Kind(
        "a question and its follow-up, together",
        {
            # Who is not asked has one value, and each other has the first answer besides.
            "attributes": [
                _question("answer", 2),
                _question("other", CATEGORIES - 1, ask_if={"answer": ["answer 1"]}),
            ],
            "together": _BLOCK,
        },
        ({"answer": "answer 0"}, {"answer": "answer 1", "other": "answer 0"}),
    ),
    "number": Kind(
        "a number, at both ends of its limits",
        {
            "attributes": [
                {
                    "name": "answer",
                    "role": "sensitive",
                    "number": {"low": 0, "high": 3000, "anchors": [0, 1000, 2000, 3000]},
                }
            ]
        },
        ({"answer": 0}, {"answer": 3000}),
    ),
    "select-all": Kind(
        "select all that apply, of two options",
        {"attributes": [_question("answer", 2, select={})]},
        ({"answer": []}, {"answer": ["answer 0", "answer 1"]}),
    ),
    "draw": Kind(
        "three questions, of which a device answers two that it draws",
        {
            "attributes": [_question(name, CATEGORIES) for name in _DRAWN],
            "draws": [{"name": "draw", "blocks": list(_DRAWN), "answer": 2}],
        },
        (dict.fromkeys(_DRAWN, "answer 0"), dict.fromkeys(_DRAWN, "answer 1")),
    ),
}
"""The kinds of questions that can be audited."""


def survey_of(protocol: str, epsilon: str, kind: str = "alone") -> Published:
    """Return the survey that an audit of a kind of question answers."""
    draft: JsonMembers = {
        "name": "audit",
        "version": 1,
        "title": "Audit",
        "epsilon": epsilon,
        "split": "uniform",
        "protocol": protocol,
        **KINDS[kind].questions,
    }
    return Manifest.from_dict(draft).resolve()


def audit(
    device: Device,
    protocol: str,
    epsilon: str,
    *,
    sdk: str,
    draws: int = 1_000_000,
    alpha: float = 0.001,
    kind: str = "alone",
) -> Finding:
    """Audit one device's draws of one protocol, half of each of two answers.

    `draws` are in [1000, 10**8], and `alpha`, the chance of finding more than is spent, in (0,
    0.5]; refuses other values, and a device that returns something else than records.
    """
    if not FEWEST_DRAWS <= draws <= MOST_DRAWS:
        raise refusal_of("draws")(f"is {draws}; give an integer in [{FEWEST_DRAWS}, {MOST_DRAWS}]")
    if not 0 < alpha <= 0.5:
        raise refusal_of("alpha")(f"is {alpha}; give a number in (0, 0.5]")
    if kind not in KINDS:
        raise refusal_of("kind")(f"is {kind}; it is one of {', '.join(KINDS)}")
    published = survey_of(protocol, epsilon, kind)
    realized = _realized(published)
    choices = _choices(published)
    n = draws // 2
    answers = KINDS[kind].answers
    values = [_values(published, given) for given in answers]
    # hits[v][w]: records of answer v that support all of w and nothing of the other, by choice
    hits = [_hits(device, published, given, values, choices, n) for given in answers]
    # Both directions of each choice, each with two bounds, which share alpha.
    level = alpha / (4 * len(choices))
    bound = max(
        _lower_bound(hits[v][v][choice], hits[w][v][choice], n, level)
        for choice in range(len(choices))
        for v, w in permutations(range(2))
    )
    return Finding(
        sdk=sdk,
        protocol=protocol,
        epsilon=float(epsilon),
        realized_epsilon=realized,
        draws=2 * n,
        lower_bound=bound,
        reachable=_reachable(max(hits[0][0]), n, realized, level),
        alpha=alpha,
    )


def _realized(published: Published) -> float:
    """Return what a record spends by the laws of all the blocks that it answers."""
    spent = sum((block.oracle.realized_epsilon for block in published.blocks), Decimal(0))
    for draw in published.draws:
        of_blocks = sorted(
            block.oracle.realized_epsilon for block in published.blocks if block.name in draw.blocks
        )
        spent -= sum(of_blocks[: len(draw.blocks) - draw.answer], Decimal(0))
    return float(spent)


def _choices(published: Published) -> list[frozenset[str]]:
    """Return the sets of fields that a record may answer; without a draw all of them."""
    always = {field.name for field in published.layout.fields if field.mask is None}
    drawn = [list(combinations(draw.blocks, draw.answer)) for draw in published.draws]
    return [frozenset(always.union(*chosen)) for chosen in product(*drawn)]


def _values(published: Published, given: Mapping[str, Any]) -> tuple[int, ...]:
    """Return what each block randomises for some answers; numbers are at anchors."""
    layout = published.layout
    codes = layout.code_answers(given)
    fields = (layout.field(block.name) for block in published.blocks)
    return tuple(field.draw(codes, SecureBits()) for field in fields)


def _hits(
    device: Device,
    published: Published,
    given: JsonObject,
    values: Sequence[tuple[int, ...]],
    choices: Sequence[frozenset[str]],
    n: int,
) -> list[list[int]]:
    """Count, for each of the two, the records that support its values and none of the other's.

    Each has a number for every choice of blocks.
    """
    try:
        import numpy as np

        from hushpoll_protocols.kernels import indicators
        from hushpoll_shared.wire.batch import answered
    except ImportError:
        raise MissingExtra("kernels", "auditing a device") from None
    size = published.layout.record_size
    hits = np.zeros((2, len(choices)), np.int64)
    for start in range(0, n, _ROWS):
        rows = min(_ROWS, n - start)
        data = device(published, given, rows)
        if len(data) != rows * size:
            raise InvalidParameter(
                f"the device returned {len(data)} bytes for {rows} records; it must return their "
                "records, one after the other",
                field="device",
            )
        records = np.frombuffer(data, np.uint8).reshape(rows, size)
        told, of_choice = np.ones((2, rows), bool), np.ones((len(choices), rows), bool)
        for block, *pair in zip(published.blocks, *values, strict=True):
            field = published.layout.field(block.name)
            chosen = answered(records, field)
            supported = indicators(block.oracle, records[chosen, field.offset : field.end])
            for v, w in permutations(range(2)):
                told[v, chosen] &= (supported[:, pair[v]] == 1) & (supported[:, pair[w]] == 0)
            for place, names in enumerate(choices):
                of_choice[place] &= chosen == (field.name in names)
        if not of_choice.any(axis=0).all():
            raise InvalidParameter(
                "the device returned records that answer another number of the draw's blocks than "
                "the survey says; it must return records that a server takes",
                field="device",
            )
        hits += np.einsum("vr,cr->vc", told, of_choice, dtype=np.int64)
    return hits.tolist()  # of int64[2, choices]


def _lower_bound(hits_v: int, hits_w: int, n: int, level: float) -> float:
    """Bound ln(P/Q) from below, from hits in n draws under each, failing 2 `level` of the time."""
    try:
        from scipy.stats import beta
    except ImportError:
        raise MissingExtra("train", "the bounds of an audit") from None
    low = float(beta.ppf(level, hits_v, n - hits_v + 1)) if hits_v else 0.0
    high = float(beta.ppf(1 - level, hits_w + 1, n - hits_w)) if hits_w < n else 1.0
    return math.log(low / high) if low else -math.inf


def _reachable(hits: int, n: int, realized: float, level: float) -> float:
    """Return the bound that exactly `realized` would give at the rate of hits that was seen."""
    rare = round(hits / math.exp(realized))
    return _lower_bound(hits, rare, n, level)


Device = Callable[[Published, JsonObject, int], bytes]
"""Draw so many records of some answers to a survey: their bytes, one after the other."""

# A million draws take less than a minute; a process that hangs must not hang the audit.
_SECONDS: Final = 1800


class DeviceFailed(HushpollError):
    """An SDK that could not be run."""


def python_device(published: Published, answers: Mapping[str, Any], times: int) -> bytes:
    """Draw through ``hushpoll_client.randomize``, with the operating system's randomness."""
    return b"".join(randomize(published, answers).record for _ in range(times))


def browser_device(published: Published, answers: JsonObject, times: int) -> bytes:
    """Draw through the browser SDK's modules, in node; raises `DeviceFailed` without it."""
    node = shutil.which("node")
    if node is None:
        raise DeviceFailed(
            "the browser SDK is run by node, and there is none on the PATH; install node 20 or "
            "newer, or leave the browser SDK out with --sdk python"
        )
    # Not imported: a folder of JavaScript that is installed beside the packages.
    tool = resources.files("hushpoll_client_js") / "tools" / "draw.js"
    with resources.as_file(tool) as script:
        done = subprocess.run(  # noqa: S603  # our own script, no shell
            [node, str(script), json.dumps(answers), str(times)],
            input=published.canonical,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    if done.returncode:
        lines = done.stderr.decode(errors="replace").splitlines()
        said = next((line for line in lines if "Error" in line), "it said nothing")
        raise DeviceFailed(f"node ended with code {done.returncode}: {said}")
    return done.stdout


SDKS: Final[dict[str, Device]] = {"python": python_device, "javascript": browser_device}
