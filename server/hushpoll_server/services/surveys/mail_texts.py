"""The texts of invitations and reminders: ours in four languages, or the survey team's own.

A text has placeholders in braces. They are checked before anything is sent, and so is that each
person has what a text names. A mail says nothing of answers: the server does not know who has
answered, only whose invitation was redeemed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.reading.people import Person
from hushpoll_shared.spelling.nearest import remedy_for
from hushpoll_shared.spelling.text import check_text, show
from hushpoll_shared.survey.published import Published

PLACEHOLDERS: Final = ("greeting", "name", "title", "link", "closes", "operator")
LONGEST_SUBJECT: Final = 200
LONGEST_BODY: Final = 10_000

_PLACE: Final = re.compile(r"\{(\w*)\}")


@dataclass(frozen=True)
class MailText:
    """Subject and body of a mail, with placeholders in braces out of `PLACEHOLDERS`."""

    subject: str
    body: str

    @property
    def names(self) -> frozenset[str]:
        """The placeholders that it has."""
        return frozenset(_PLACE.findall(self.subject) + _PLACE.findall(self.body))

    def filled(self, values: Mapping[str, str]) -> MailText:
        """Return the text with values in place of the placeholders."""

        def value(found: re.Match[str]) -> str:
            return values[found[1]]

        return MailText(_PLACE.sub(value, self.subject), _PLACE.sub(value, self.body))


@dataclass(frozen=True)
class _Words:
    """Ours in one language; a paragraph is left out of a survey that lacks what it names."""

    greeting: str
    greeting_to: str
    invitation: MailText
    reminder: MailText
    operator: str
    closes: str


_STORED: Final = {
    "en": "The server keeps your address, encrypted, until the survey is closed, and whether this "
    "link was used. Invitation and report are not linkable from what is stored, once your report "
    "is mixed with others.",
    "de": "Der Server behält Ihre Adresse, verschlüsselt, bis die Umfrage geschlossen ist, und ob "
    "dieser Link benutzt wurde. Einladung und Bericht lassen sich aus dem, was gespeichert ist, "
    "nicht verknüpfen, sobald Ihr Bericht mit anderen gemischt ist.",
    "fr": "Le serveur garde votre adresse, chiffrée, jusqu’à la clôture de l’enquête, et si ce "
    "lien a été utilisé. L’invitation et le rapport ne peuvent pas être reliés à partir de ce qui "
    "est stocké, une fois votre rapport mêlé à d’autres.",
    "es": "El servidor guarda su dirección, cifrada, hasta que se cierre la encuesta, y si este "
    "enlace se usó. La invitación y el informe no se pueden vincular a partir de lo que está "
    "guardado, una vez que su informe está mezclado con otros.",
}

_TEXTS: Final[Mapping[str, _Words]] = {
    "en": _Words(
        "Hello,",
        "Hello {name},",
        MailText(
            "Invitation: {title}",
            "{greeting}\n\nyou are invited to the survey “{title}”. This link is for you alone and "
            "is worth one report:\n\n{link}\n\nOpen it on the device on which you answer: the "
            "first device that goes on to what would be sent uses it up.\n\n" + _STORED["en"],
        ),
        MailText(
            "Reminder: {title}",
            "{greeting}\n\nyou are invited to the survey “{title}”. When this mail was written, "
            "your link had not been used; who has answered is not known. It is for you alone and "
            "is worth one report:\n\n{link}\n\nOpen it on the device on which you answer: the "
            "first device that goes on to what would be sent uses it up.\n\n" + _STORED["en"],
        ),
        "The survey is run by {operator}.",
        "It closes on {closes}.",
    ),
    "de": _Words(
        "Guten Tag,",
        "Guten Tag {name},",
        MailText(
            "Einladung: {title}",
            "{greeting}\n\nSie sind zur Umfrage „{title}“ eingeladen. Dieser Link ist nur für Sie "
            "und ist einen Bericht wert:\n\n{link}\n\nÖffnen Sie ihn auf dem Gerät, auf dem Sie "
            "antworten: Das erste Gerät, das zu dem weitergeht, was gesendet würde, verbraucht "
            "ihn.\n\n" + _STORED["de"],
        ),
        MailText(
            "Erinnerung: {title}",
            "{greeting}\n\nSie sind zur Umfrage „{title}“ eingeladen. Als diese Mail geschrieben "
            "wurde, war Ihr Link nicht benutzt; wer geantwortet hat, ist nicht bekannt. Er ist nur "
            "für Sie und ist einen Bericht wert:\n\n{link}\n\nÖffnen Sie ihn auf dem Gerät, auf "
            "dem Sie antworten: Das erste Gerät, das zu dem weitergeht, was gesendet würde, "
            "verbraucht ihn.\n\n" + _STORED["de"],
        ),
        "Die Umfrage führt {operator} durch.",
        "Sie wird am {closes} geschlossen.",
    ),
    "fr": _Words(
        "Bonjour,",
        "Bonjour {name},",
        MailText(
            "Invitation : {title}",
            "{greeting}\n\nvous êtes invité(e) à l’enquête « {title} ». Ce lien est pour vous "
            "seul(e) et vaut un rapport :\n\n{link}\n\nOuvrez-le sur "
            "l’appareil sur lequel vous répondez : le premier appareil qui passe à ce qui serait "
            "envoyé l’épuise.\n\n" + _STORED["fr"],
        ),
        MailText(
            "Rappel : {title}",
            "{greeting}\n\nvous êtes invité(e) à l’enquête « {title} ». Quand ce message a été "
            "écrit, votre lien n’avait pas été utilisé ; qui a répondu n’est pas connu. Il est "
            "pour vous seul(e) et vaut un rapport :\n\n{link}\n\nOuvrez-le sur "
            "l’appareil sur lequel vous répondez : le premier appareil qui passe à ce qui serait "
            "envoyé l’épuise.\n\n" + _STORED["fr"],
        ),
        "L’enquête est menée par {operator}.",
        "Elle se termine le {closes}.",
    ),
    "es": _Words(
        "Hola:",
        "Hola, {name}:",
        MailText(
            "Invitación: {title}",
            "{greeting}\n\nle invitamos a la encuesta «{title}». Este enlace es solo para usted y "
            "vale un informe:\n\n{link}\n\nÁbralo en el dispositivo en el que responde: el primer "
            "dispositivo que pasa a lo que se enviaría lo gasta.\n\n" + _STORED["es"],
        ),
        MailText(
            "Recordatorio: {title}",
            "{greeting}\n\nle invitamos a la encuesta «{title}». Cuando se escribió este mensaje, "
            "su enlace no se había usado; quién ha respondido no se sabe. Es solo para usted y "
            "vale un informe:\n\n{link}\n\nÁbralo en el dispositivo en el que responde: el primer "
            "dispositivo que pasa a lo que se enviaría lo gasta.\n\n" + _STORED["es"],
        ),
        "Realiza la encuesta {operator}.",
        "Se cierra el {closes}.",
    ),
}

OUR_LANGUAGES: Final = tuple(_TEXTS)


def check_texts(texts: Mapping[str, MailText], published: Published) -> None:
    """Check the survey team's own texts, by language.

    Refused are a language that the survey does not have, a placeholder that there is not, or that
    this survey has nothing for, and a body without the link.
    """
    languages = published.languages or ("en",)
    for tag, text in texts.items():
        where = f"texts.{tag}"
        if tag not in languages:
            raise InvalidParameter(
                f"texts has the language {show(tag)}, and the survey's are {', '.join(languages)}"
                f"{remedy_for(tag, languages)}",
                field="texts",
            )
        check_text(text.subject, field=f"{where}.subject", longest=LONGEST_SUBJECT)
        check_text(text.body.strip("\n"), field=f"{where}.body", longest=LONGEST_BODY, lines=True)
        for part, value in (("subject", text.subject), ("body", text.body)):
            _check_places(value, f"{where}.{part}", published)
        if "{link}" not in text.body or "{link}" in text.subject:
            raise InvalidParameter(
                f"{where} has {{link}} in the subject or not in the body; put it into the body "
                "once: it is the person's invitation",
                field=f"{where}.body",
            )


def _check_places(value: str, field: str, published: Published) -> None:
    for name in _PLACE.findall(value):
        if name not in PLACEHOLDERS:
            raise InvalidParameter(
                f"{field} has the placeholder {show('{' + name + '}')}"
                f"{remedy_for(name, PLACEHOLDERS)}",
                field=field,
            )
        absent = {"closes": published.closes_at, "operator": published.operator}
        if name in absent and absent[name] is None:
            raise InvalidParameter(
                f"{field} has the placeholder {{{name}}}, and the manifest has no {name}; take it "
                "out",
                field=field,
            )
    rest = _PLACE.sub("", value)
    if "{" in rest or "}" in rest:
        raise InvalidParameter(
            f"{field} has a brace that is no placeholder; write placeholders as {{link}}, and "
            "leave other braces out",
            field=field,
        )


def language_of(person: Person, published: Published) -> str:
    """Return the language in which a person is written to."""
    return person.language or published.language or "en"


def check_people(
    people: Iterable[tuple[str, Person]],
    texts: Mapping[str, MailText],
    published: Published,
) -> None:
    """Refuse a person for whom there is no text, or who lacks what it names, with the place."""
    for place, person in people:
        language = language_of(person, published)
        own = texts.get(language)
        if own is None and _ours(language) is None:
            raise InvalidParameter(
                f"{place} is written to in {show(language)}, and there is no text in it; give one "
                f"in texts: ours are in {', '.join(OUR_LANGUAGES)}",
                field="texts",
            )
        if own is not None and "name" in own.names and person.name is None:
            raise InvalidParameter(
                f"{place} has no name, and the text in {language} has {{name}}; give one, or write "
                "{greeting} in the text",
                field="name",
            )


def mail_text(
    person: Person,
    published: Published,
    texts: Mapping[str, MailText],
    *,
    link: str,
    reminder: bool,
) -> MailText:
    """Return subject and body for a person that ``check_people`` has checked."""
    language = language_of(person, published)
    ours = _ours(language) or _TEXTS["en"]
    text = texts.get(language) or our_text(language, published, reminder=reminder)
    if text is None:
        raise InvalidParameter(
            f"there is no text in {show(language)}; give one in texts: ours are in "
            f"{', '.join(OUR_LANGUAGES)}",
            field="texts",
        )
    stated = language if language in published.languages else None
    greeting = ours.greeting
    if person.name is not None:
        greeting = ours.greeting_to.replace("{name}", person.name)
    closes = published.closes_at
    return text.filled(
        {
            "greeting": greeting,
            "name": person.name or "",
            "title": published.wording(stated).title,
            "link": link,
            "closes": "" if closes is None else f"{closes:%Y-%m-%d}",
            "operator": published.operator or "",
        }
    )


def our_text(language: str, published: Published, *, reminder: bool) -> MailText | None:
    """Return our text in a language, with its placeholders; None if there is none in it."""
    ours = _ours(language)
    if ours is None:
        return None
    text = ours.reminder if reminder else ours.invitation
    more = [ours.operator] if published.operator is not None else []
    more += [ours.closes] if published.closes_at is not None else []
    return MailText(text.subject, f"{text.body}\n\n{' '.join(more)}") if more else text


def _ours(language: str) -> _Words | None:
    return _TEXTS.get(language.partition("-")[0])
