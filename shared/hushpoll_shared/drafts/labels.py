"""White space, invisible characters and look-alikes in the texts of a draft, beside its questions.

Each question is checked as it is read (:mod:`hushpoll_shared.drafts.attributes`).
"""

from __future__ import annotations

from hushpoll_shared.spelling.labels import check_apart, check_ends
from hushpoll_shared.survey.terms import Terms


def check_labels(draft: Terms) -> None:
    """Refuse a survey's own texts and translations that nobody could read or tell apart.

    Raises
    ------
    InvalidParameter
        Naming the field.
    """
    for key in ("title", "operator"):
        check_ends(getattr(draft, key), field=key)
    for key in ("description", "purpose"):
        check_ends(getattr(draft, key), field=key, lines=True)
    sections = [attribute.section for attribute in draft.attributes if attribute.section]
    check_apart(sections, field="attributes")
    own = {attribute.name: attribute for attribute in draft.attributes}
    for translation in draft.translations:
        where = f"translations[{translation.language}]"
        check_ends(translation.title, field=f"{where}.title")
        for key in ("description", "purpose"):
            check_ends(getattr(translation, key), field=f"{where}.{key}", lines=True)
        for name, words in translation.sections:
            check_ends(words, field=f"{where}.sections[{name}]"[:200])
        for question in translation.questions:
            path = f"{where}.attributes[{question.name}]"
            for key in ("question", "missing"):
                check_ends(getattr(question, key), field=f"{path}.{key}")
            check_ends(question.help, field=f"{path}.help", lines=True)
            for position, category in enumerate(question.categories or ()):
                check_ends(category, field=f"{path}.categories[{position}]")
            if question.categories is not None:
                check_apart((*question.categories, question.missing), field=f"{path}.categories")
            elif question.missing is not None:
                labels = (*own[question.name].categories, question.missing)
                check_apart(labels, field=f"{path}.missing")
