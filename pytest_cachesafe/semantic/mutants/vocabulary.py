"""Words that the mutators of words look up. Data only."""

from __future__ import annotations

__all__ = ["COMMANDS", "COMPARATIVES", "NOUNS_TOO", "QUANTIFIERS", "ROLES", "VAGUE", "WRITTEN"]


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Verbs that begin a command.
COMMANDS = _set("""
    add allow apply assign calculate cancel charge check compare configure connect convert create deactivate delete
    deploy disable enable encrypt extend fetch generate give grant include install invite keep merge migrate notify
    open pay publish put reboot remove rename renew replace restore save schedule send show submit subscribe
    summarise summarize sync tell translate turn uninstall unlock unsubscribe write
""")
# And those that are nouns as well.
NOUNS_TOO = _set("""
    archive block book build change close copy download export import increase list lock move order print refund
    reset restart run set share ship sort start stop transfer update upgrade upload use
""")

# Words with so many senses or uses that their opposite would often be beside the point ("like", "book", "right").
VAGUE = _set("""
    about ahead alone asset back book business busy charge check child close cover current dark day deep dear direct
    down dry east economy even express fair fall first follow for foreign formal free front full hard heat help home
    hit host in kind last leave left less light like live load long loss love manager many mean member minor miss
    more morning most much night no north old on order original out over own parent part past present previous pro
    question quickly raw read record reduce remote rest right same save second set sharp short simple single soft south
    slowly spring standard state still strong summer support test to together top train true turn up used user well
    west with write yes yet against off under without old new next one both either something everything year month sweet
    wrong cut return like answer row cost case cool raise lower give take receive rent lease refund pay buy debit
    soon shut resolved shutdown schedule keep best worst better worse weekend weekday someone anyone everyone nobody
    everybody anybody lost found author reader register registered request response development production joint
    sole afternoon evening install uninstall pull push
""")

# Words between which a prompt's meaning turns; a word before a unit of time is a period, not a quantifier.
QUANTIFIERS = (
    (r"all(?!\s+(?:day|night|over|time|right)\b)", "some"),
    ("some", "all"),
    ("always", "sometimes"),
    ("sometimes", "always"),
    (r"every(?!\s+(?:\w+\s+)?(?:second|minute|hour|day|night|week|month|quarter|year)s?\b)", "some"),
)
COMPARATIVES = (
    "at least/at most",
    "more than/less than",
    "highest/lowest",
    "higher/lower",
    "largest/smallest",
    "larger/smaller",
    "longest/shortest",
    "longer/shorter",
    "maximum/minimum",
    "fastest/slowest",
    "faster/slower",
    "newest/oldest",
    "cheapest/most expensive",
    "earliest/latest",
    "above/below",
)

# Counterparts.
ROLES = (
    ("buyer", "seller"),
    ("landlord", "tenant"),
    ("employer", "employee"),
    ("sender", "recipient"),
    ("teacher", "student"),
    ("doctor", "patient"),
    ("customer", "vendor"),
    ("supplier", "customer"),
    ("borrower", "lender"),
    ("admin", "viewer"),
    ("owner", "member"),
    ("client", "server"),
    ("plaintiff", "defendant"),
    ("driver", "passenger"),
    ("payer", "payee"),
    ("host", "guest"),
    ("parent", "child"),
    ("husband", "wife"),
    ("producer", "consumer"),
    ("debtor", "creditor"),
)

# Numbers that are changed where they are written in words.
WRITTEN = _set("two three four five six seven eight nine ten twelve twenty thirty forty fifty sixty ninety")
