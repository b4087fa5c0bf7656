"""What a learner promises, by central differential privacy, about the rows that it is fitted to."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject


@dataclass(frozen=True, slots=True)
class PrivacyClaim:
    """What a learner itself promises about the rows that it is fitted to.

    The local differential privacy of perturbed records holds besides; no learner changes it.

    Attributes
    ----------
    epsilon, delta : float or None
        What central differential privacy has; both None without a claim, delta None where it is 0.
    accountant : str or None
        What composed the steps' losses.
    neighbours : str or None
        Which data sets count as neighbours, such as ``add or remove one row``.
    proven : bool
        Whether epsilon is an upper bound; False where the accountant approximates it and can
        understate it.
    """

    epsilon: float | None = None
    delta: float | None = None
    accountant: str | None = None
    neighbours: str | None = None
    proven: bool = True

    def to_json(self) -> JsonMembers:
        """Return the claim as records of runs and cards hold it."""
        if self.epsilon is None:
            return {"kind": "none"}
        return {"kind": "central", **asdict(self)}


def privacy_sentence(claim: JsonObject) -> str:
    """Say a claim, as :meth:`PrivacyClaim.to_json` writes it, in words."""
    if claim["kind"] == "none":
        return (
            "The learner adds no differential privacy of its own to the rows that it is fitted to."
        )
    values = f"({claim['epsilon']:g}, {claim['delta'] or 0:g})"
    computed = (
        f"neighbouring data sets: {claim['neighbours'] or 'not stated'}. The loss was computed by "
        f"{claim['accountant'] or 'the learner'}."
    )
    # a record that was made before there were approximate accountants does not say
    if claim.get("proven", True):
        return f"The learner is {values}-differentially private in the central model; {computed}"
    return (
        f"The learner is said to be {values}-differentially private in the central model by an "
        f"approximation; {computed} It is no upper bound: the true epsilon can be larger, so this "
        "is no promise. Use the accountant prv or rdp for one."
    )
