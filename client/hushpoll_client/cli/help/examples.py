"""Examples of every command, for its help and its reference; a test checks their options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

_BY_HAND: Final[dict[str, tuple[str, ...]]] = {
    "answer": (
        "hushpoll answer https://polls.example.org/s/work-and-health",
        "hushpoll answer https://polls.example.org/s/panel --token hr_... --max-epsilon 4",
    ),
    "audit": ("hushpoll audit --sdk python --protocols GRR,OUE --epsilons 1,4 --draws 20000",),
    "card": ("hushpoll card run --out card.html",),
    "codebook": (
        "hushpoll codebook work-and-health",
        "hushpoll codebook work-and-health --out codebook.md",
    ),
    "data": ("hushpoll data adult --out adult.csv",),
    "demo": ("hushpoll demo", "hushpoll demo --look"),
    "draft begin": ("hushpoll draft begin work-and-health",),
    "draft check": ("hushpoll draft check survey.yaml",),
    "draft delete": ("hushpoll draft delete 9b1c... --yes",),
    "draft image": ("hushpoll draft image logo.png",),
    "draft import": (
        "hushpoll draft import form.xlsx --out survey.yaml",
        "hushpoll draft import survey.json",
    ),
    "draft list": ("hushpoll draft list",),
    "draft publish": ("hushpoll draft publish 9b1c... --revision 2",),
    "draft save": (
        "hushpoll draft save survey.yaml",
        "hushpoll draft save survey.yaml --id 9b1c... --revision 2",
    ),
    "draft show": ("hushpoll draft show 9b1c...",),
    "estimate": (
        "hushpoll estimate work-and-health --attribute health",
        "hushpoll estimate work-and-health --estimator projected --out estimates.csv",
    ),
    "experiment compare": ("hushpoll experiment compare runs --reference paper.csv --partial",),
    "experiment configs": ("hushpoll experiment configs", "hushpoll experiment configs adult"),
    "experiment plot": ("hushpoll experiment plot runs --out figures",),
    "experiment run": (
        "hushpoll experiment run adult --data adult.csv --out runs",
        "hushpoll experiment run adult --data adult.csv --protocols OLH --epsilons 4 --seeds 0 "
        "--out runs",
    ),
    "experiment table": (
        "hushpoll experiment table runs --out adult.md --title 'Adult, every protocol'",
    ),
    "experiment trust": ("hushpoll experiment trust runs --out trust",),
    "export": (
        "hushpoll export work-and-health --out survey.records",
        "hushpoll export work-and-health --format parquet --out survey.parquet",
    ),
    "fairness certificate": ("hushpoll fairness certificate run test.csv --groups gender",),
    "fairness model": ("hushpoll fairness model run later.records --unseen",),
    "fairness delete": ("hushpoll fairness delete 7f3c2a... --yes",),
    "fairness list": ("hushpoll fairness list work-and-health",),
    "fairness predictions": (
        "hushpoll fairness predictions predicted.csv --data people.csv --groups gender "
        "--label income --positive '>26000'",
    ),
    "fairness records": ("hushpoll fairness records survey.records --confidence 0.9",),
    "fairness survey": ("hushpoll fairness survey work-and-health --out fairness.xlsx",),
    "job cancel": ("hushpoll job cancel 7f3c2a...",),
    "job list": ("hushpoll job list --state running",),
    "job result": ("hushpoll job result 7f3c2a... --out fairness.json",),
    "job show": ("hushpoll job show 7f3c2a...",),
    "job start": ("hushpoll job start fairness work-and-health --set folds=5 --timeout 600",),
    "job wait": ("hushpoll job wait 7f3c2a...",),
    "ledger export": ("hushpoll ledger export --out about-me.json",),
    "ledger send": ("hushpoll ledger send",),
    "ledger show": ("hushpoll ledger show",),
    "ledger withdraw": ("hushpoll ledger withdraw work-and-health",),
    "manifest check": ("hushpoll manifest check survey.yaml",),
    "manifest schema": ("hushpoll manifest schema > manifest.schema.json",),
    "migrate": ("hushpoll migrate --check", "hushpoll migrate --config hushpoll.toml"),
    "model delete": ("hushpoll model delete 7f3c2a... --yes",),
    "model fetch": ("hushpoll model fetch 7f3c2a... --out run.zip",),
    "model learners": ("hushpoll model learners work-and-health",),
    "model list": ("hushpoll model list work-and-health",),
    "model show": ("hushpoll model show 7f3c2a...",),
    "plan": ("hushpoll plan survey.yaml --n 20000",),
    "predict": ("hushpoll predict --model run --data people.csv --out predicted.csv",),
    "regress data": (
        "hushpoll regress data people.csv --law smokes=law.csv --formula 'smokes ~ age + region'",
    ),
    "regress delete": ("hushpoll regress delete 7f3c2a... --yes",),
    "regress list": ("hushpoll regress list work-and-health",),
    "regress survey": (
        "hushpoll regress survey work-and-health --formula 'income ~ gender + education'",
        "hushpoll regress survey work-and-health --formula 'health ~ age' --family ordered --json",
    ),
    "records regress": (
        "hushpoll records regress survey.records --formula 'income ~ gender + education'",
    ),
    "records estimate": ("hushpoll records estimate survey.records --check-shape",),
    "records results": ("hushpoll records results survey.records --out results.csv",),
    "records table": ("hushpoll records table survey.records gender health income",),
    "records weight": ("hushpoll records weight survey.records health --design design.yaml",),
    "relate table": ("hushpoll relate table work-and-health gender health income",),
    "page-digest": (
        "hushpoll page-digest https://survey.example.org/s/work-and-health",
        "hushpoll page-digest https://survey.example.org/s/work-and-health --local",
    ),
    "privacy-sheet": (
        "hushpoll privacy-sheet survey.yaml --out privacy.pdf --language de --kept-days 90",
        "hushpoll privacy-sheet work-and-health --out privacy.html",
    ),
    "report": (
        "hushpoll report work-and-health --cross health,gender --out results.html",
        "hushpoll report work-and-health --out results.html --bundle results.zip",
    ),
    "results list": ("hushpoll results list work-and-health",),
    "results publish": (
        "hushpoll results publish work-and-health --attribute health --cross health,gender",
        "hushpoll results publish work-and-health --attribute health --so-far",
    ),
    "results table": (
        "hushpoll results table work-and-health --out results.xlsx",
        "hushpoll results table work-and-health --query 'cross-tables?a=gender&b=health'",
    ),
    "results withdraw": ("hushpoll results withdraw work-and-health --version 1",),
    "serve": (
        "hushpoll serve --admin-token-file admin-token",
        "hushpoll serve --database-url postgresql+psycopg://hushpoll@db/hushpoll --workers 2",
    ),
    "simulate": (
        "hushpoll simulate --manifest survey.yaml --respondents 5000 --bulk --seed 1",
        "hushpoll simulate --manifest survey.yaml --data people.csv --misbehave replay=0.01",
    ),
    "submit": ("hushpoll submit night.reports work-and-health",),
    "survey close": ("hushpoll survey close work-and-health --grace 3600",),
    "survey delete-records": ("hushpoll survey delete-records work-and-health 1",),
    "survey example": ("hushpoll survey example > survey.yaml",),
    "survey invite": (
        "hushpoll survey invite panel --count 200 --out links.txt",
        "hushpoll survey invite panel --from people.csv",
        "hushpoll survey invite panel --preview --texts texts.yaml",
        "hushpoll survey invite panel --from people.csv --texts texts.yaml",
    ),
    "survey invitations": ("hushpoll survey invitations panel",),
    "survey issue-tokens": (
        "hushpoll survey issue-tokens panel --count 200 --links --out links.txt",
    ),
    "survey list": ("hushpoll survey list",),
    "survey origins": ("hushpoll survey origins work-and-health https://shop.example.org",),
    "survey publish": (
        "hushpoll survey publish survey.yaml --dry-run",
        "hushpoll survey publish survey.yaml",
    ),
    "survey remind": ("hushpoll survey remind panel",),
    "survey show": ("hushpoll survey show work-and-health --json",),
    "survey tokens": ("hushpoll survey tokens panel",),
    "token issue": (
        "hushpoll token issue --scope read --label 'monthly report' --survey work-and-health",
    ),
    "token list": ("hushpoll token list",),
    "token revoke": ("hushpoll token revoke 3f9a...",),
    "token rotate": ("hushpoll token rotate 3f9a... --overlap 3600",),
    "train": (
        "hushpoll train --records survey.records --out run",
        "hushpoll train --data adult.csv --target income --protected gender --sensitive "
        "gender,race,age --protocol OLH --epsilon 4 --out run",
    ),
    "tune": ("hushpoll tune --data people.csv --manifest survey.yaml --trials 50 --out study",),
    "user add": ("hushpoll user add ada --role work-and-health=analyst",),
    "user list": ("hushpoll user list",),
    "user password": ("hushpoll user password ada",),
    "user remove": ("hushpoll user remove ada",),
    "user role": ("hushpoll user role ada work-and-health reader",),
    "weight": ("hushpoll weight work-and-health health --design design.yaml",),
    "worker": ("hushpoll worker --config hushpoll.toml",),
}
"""By the whole name of the command."""


def _of_queries() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield an example of each query's commands, of a server and of a file."""
    from hushpoll_shared.querying.registry import all_queries  # as in the table of commands

    for query in all_queries().values():
        on_file = f"records {query.command.rpartition(' ')[2]}"
        for name, subject, since in (
            (query.command, "work-and-health", "1"),
            (on_file, "survey.records", "earlier.records"),
        ):
            words = (
                "hushpoll",
                name,
                subject,
                query.example,
                *(query.compares * ("--since", since)),
            )
            yield name, (" ".join(filter(None, words)),)


@cache
def all_examples() -> Mapping[str, tuple[str, ...]]:
    """Return the examples of every command, by its whole name."""
    return {**dict(_of_queries()), **_BY_HAND}


def examples_of(name: str) -> tuple[str, ...]:
    """Return the examples of a command, or none; only those of a query load the queries."""
    return _BY_HAND.get(name) or all_examples().get(name, ())
