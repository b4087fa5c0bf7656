"""How a model is made from records: a learner with its parameters, and an encoding."""

from __future__ import annotations

from dataclasses import dataclass, field

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject
from hushpoll_shared.survey.published import Published
from hushpoll_training.encodings.encoding import Encoding
from hushpoll_training.encodings.registry import DEFAULT as DEFAULT_ENCODING
from hushpoll_training.encodings.registry import create_encoding
from hushpoll_training.learner_registry import DEFAULT as DEFAULT_LEARNER
from hushpoll_training.learner_registry import create_learner
from hushpoll_training.learners.learner import Learner


@dataclass(frozen=True, slots=True)
class Recipe:
    """A learner and an encoding.

    Attributes
    ----------
    learner : Learner
        With its parameters.
    encoding : Encoding
        How records become features. Rows in clear are one-hot in any of them.
    """

    learner: Learner = field(default_factory=create_learner)
    encoding: Encoding = field(default_factory=create_encoding)

    @classmethod
    def of(
        cls,
        parameters: JsonObject | None = None,
        *,
        learner: str = DEFAULT_LEARNER,
        encoding: str = DEFAULT_ENCODING,
        prior: str = "shrinkage",
    ) -> Recipe:
        """Return the recipe of a learner and an encoding by their names.

        Parameters
        ----------
        parameters : mapping, optional
            The learner's; see its ``bounds``.
        learner : str
            One of :data:`hushpoll_training.learner_registry.LEARNERS`.
        encoding : str
            One of :data:`hushpoll_training.encodings.registry.ENCODINGS`.
        prior : {"shrinkage", "projection", "likelihood"}
            How the encoding's prior is estimated, if it needs one.

        Raises
        ------
        InvalidParameter
            For an unknown name, or a parameter that the learner refuses.
        """
        return cls(create_learner(learner, parameters), create_encoding(encoding, prior=prior))

    def refuse_repeated_fits(self, purpose: str) -> None:
        """Refuse a private learner where the same rows are fitted to many times.

        Its claim is about one model. What several models of the same rows tell together is more.

        Raises
        ------
        InvalidParameter
            If the learner claims privacy of its own.
        """
        if self.learner.claim.epsilon is not None:
            raise InvalidParameter(
                f"the learner {self.learner.name} is private itself, and {purpose} fits it several "
                "times to the same rows, which its claim does not cover; use one that claims "
                f"nothing, such as {DEFAULT_LEARNER}",
                field="learner",
            )

    def refuse_clear_rows(self, purpose: str) -> None:
        """Refuse a learner that reads rows in clear, where there are records alone.

        Raises
        ------
        InvalidParameter
            If the learner measures rates on rows in clear.
        """
        if self.learner.calibration is not None:
            raise InvalidParameter(
                f"the learner {self.learner.name} measures rates on rows in clear, and {purpose} "
                "has records alone; use a learner without parity, or export the records and train "
                "with hushpoll train --panel",
                field="learner",
            )

    def refuse_missing(self, published: Published) -> None:
        """Refuse a learner that needs every value, of features that some do not answer.

        Raises
        ------
        InvalidParameter
            If a feature is in a draw, and neither the encoding nor the learner knows what to do.
        """
        drawn = [one for one in published.attributes if one.draw and one.role != "target"]
        if drawn and self.encoding.leaves_missing and not self.learner.takes_missing:
            raise InvalidParameter(
                f"{drawn[0].name} is in the draw {drawn[0].draw}, so that some records have no "
                f"answer to it, and the learner {self.learner.name} needs a value of every "
                "feature; use the encoding posterior, which has the estimated shares there, or "
                f"the learner {DEFAULT_LEARNER}",
                field="encoding",
            )

    def refuse_group_at_prediction(self, purpose: str) -> None:
        """Refuse a learner whose models read a group in clear, where records are predicted.

        Raises
        ------
        InvalidParameter
            If they do.
        """
        if self.learner.reads_group:
            raise InvalidParameter(
                f"the learner {self.learner.name} reads each person's group in clear when "
                f"predicting, and {purpose} predicts records, which do not tell it; use a learner "
                "without thresholds, or measure on a panel",
                field="learner",
            )

    def refuse_further_groups(self, purpose: str) -> None:
        """Refuse a learner whose models read a further group in clear, where one is evaluated.

        Raises
        ------
        InvalidParameter
            If they do.
        """
        if self.learner.reads_group and self.learner.parameters.get("further_groups"):
            raise InvalidParameter(
                f"the learner {self.learner.name} with further_groups reads each person's category "
                f"of these in clear when predicting, and {purpose} puts the protected attribute's "
                "alone in place of records; use one attribute's groups, or measure on a panel",
                field="further_groups",
            )

    def to_json(self) -> JsonMembers:
        """Return the recipe as records of runs hold it."""
        return {**self.learner.to_json(), "encoding": self.encoding.name}
