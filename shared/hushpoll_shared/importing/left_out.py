"""What a form may have and a draft has not, and what the report says of it; tables of SurveyJS."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

FREE_TEXT: Final = (
    "It asks for free text, which cannot be randomised so that shares are left; "
    "ask it as a choice, or elsewhere."
)
NOTHING_ASKED: Final = "It asks nothing, and a survey here has questions alone."
FILE: Final = "It asks for a file, which cannot be randomised."
ORDER: Final = (
    "It asks for an order of choices, which is no single answer; ask for the first choice."
)
MOMENT: Final = "It asks for a date or a time; ask for a year or a period as a choice."
NO_DEFAULT: Final = "Its default is left out: nobody's answer is filled in."
NO_DECIMALS: Final = "It becomes a whole number; in the form it may have decimals."
ONE_MORE_CHOICE: Final = (
    "'Other' is one more choice; what is meant by it is not asked, as free text."
)

DROPPED: Final[Mapping[str, str]] = {
    "comment": FREE_TEXT,
    "html": NOTHING_ASKED,
    "image": NOTHING_ASKED,
    "expression": "It is computed; here nothing is sent that a respondent was not asked.",
    "file": FILE,
    "signaturepad": "It asks for a drawing, which cannot be randomised.",
    "ranking": ORDER,
    "matrixdynamic": "It asks for any number of rows, and a respondent answers here once.",
    "paneldynamic": "It repeats its questions, and a respondent answers here once.",
}
LOOKS: Final = frozenset(
    {"colCount", "width", "minWidth", "maxWidth", "startWithNewLine", "titleLocation", "size",
     "descriptionLocation", "indent", "showNumber", "hideNumber", "state", "renderAs",
     "placeholder",
     "rateType", "displayMode", "autoGenerate", "errorLocation", "showImageInChoices", "imageFit",
     "imageHeight", "imageWidth", "showLabel", "itemSize", "searchEnabled", "allowClear",
     "optionsCaption", "showClearButton", "alternateRows", "columnMinWidth", "rowTitleWidth",
     "useDisplayValuesInDynamicTexts",
     "displayRateDescriptionsAsExtremeItems", "scaleColorMode", "rateColorMode", "valueName"}
)  # fmt: skip
"""Members that say how a question looks: they are named once for the whole survey."""
LEFT_OUT: Final[Mapping[str, str]] = {
    "enableIf": "The condition under which it can be answered is left out.",
    "requiredIf": "The condition under which it must be answered is left out.",
    "choicesVisibleIf": "The condition on its choices is left out: everybody reads all of them.",
    "choicesEnableIf": "The condition on its choices is left out: everybody may choose each.",
    "defaultValue": NO_DEFAULT,
    "defaultValueExpression": NO_DEFAULT,
    "setValueExpression": "The expression that sets it is left out.",
    "hasComment": "The comment beside it is left out, as free text.",
    "showCommentArea": "The comment beside it is left out, as free text.",
}
OF_SURVEY: Final[Mapping[str, str]] = {
    "triggers": "Its triggers are left out.",
    "calculatedValues": "Its calculated values are left out.",
    "logo": "Its logo is left out: give the image itself with 'hushpoll draft image'.",
    "completedHtmlOnCondition": "Other texts after the last question for some answers are left "
    "out: everybody reads the same.",
}


def not_understood(conditions: Iterable[str]) -> tuple[str, ...]:
    """Return what the author must decide of conditions that no reader understands."""
    return tuple(
        f"It is asked of everybody: its condition {text} is not understood." for text in conditions
    )
