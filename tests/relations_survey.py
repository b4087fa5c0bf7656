"""Small surveys of two or three questions, drawn with a known joint distribution."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.records import Records
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.batch import encode_many


def survey(*questions: tuple[str | None, int, str], **changes: object) -> Published:
    """A survey with attributes a, b, c ... of (protocol or None, categories, epsilon)."""
    weights: dict[str, str] = {}
    attributes: list[dict[str, object]] = []
    for name, (protocol, k, epsilon) in zip("abcdef", questions, strict=False):
        perturbed = {"role": "sensitive", "protocol": protocol}
        attributes.append(
            {"name": name, "range": [1, k], **(perturbed if protocol else {"role": "plain"})}
        )
        if protocol:
            weights[name] = epsilon
    if not weights:
        weights["z"] = "1"
        attributes.append({"name": "z", "role": "sensitive", "protocol": "GRR", "range": [1, 2]})
    draft = {
        "name": "related",
        "version": 1,
        "title": "Related",
        "epsilon": str(sum(float(weight) for weight in weights.values())),
        "split": {"weights": {name: float(weight) for name, weight in weights.items()}},
        "attributes": attributes,
        **changes,
    }
    return Manifest.from_dict(draft).resolve()


def draw(
    published: Published, joint: npt.NDArray[np.float64], n: int, seed: int | Sequence[int]
) -> tuple[dict[str, npt.NDArray[np.int64]], Records]:
    """n respondents of a joint distribution f64[k1, k2, ...]: their answers and their records."""
    rng = np.random.default_rng(seed)
    cells = np.unravel_index(rng.choice(joint.size, n, p=joint.ravel()), joint.shape)
    codes = dict(zip("abcdef", cells, strict=False))
    if "z" in [attribute.name for attribute in published.attributes]:
        codes["z"] = rng.integers(0, 2, n)
    return codes, Records(published, encode_many(published, codes, rng))
