"""Who does it to whom, where one of the two is the asker: "can she see my report", "can I see her report"."""

from __future__ import annotations

from pytest_cachesafe.semantic.slots.found import Found
from pytest_cachesafe.semantic.slots.profile import Profile
from pytest_cachesafe.semantic.tables.word_set import word_set

__all__ = ["owners", "pronouns"]

# Pronouns that act, and such that are acted on or own something.
_ACTS = {"first": word_set("i we"), "third": word_set("he she they")}
_OWNS = {"first": word_set("me us my our mine ours"), "third": word_set("him his her hers them their theirs")}


def pronouns(a: Profile, b: Profile) -> Found | None:
    """One prompt has the asker act and another own or suffer it, the other the other way round."""
    one, other = _roles(a), _roles(b)
    if {one, other} != {("first", "third"), ("third", "first")} or not (a.template and b.template):
        return None
    return Found("role_swap", "suspect", a.persons or (a.template[0],), b.persons or (b.template[0],))


def _roles(profile: Profile) -> tuple[str, str]:
    """Who acts and who is acted on; empty where both or neither do."""
    words = profile.tokens.words
    acts = [who for who, forms in _ACTS.items() if not forms.isdisjoint(words)]
    owns = [who for who, forms in _OWNS.items() if not forms.isdisjoint(words)]
    return (acts[0] if len(acts) == 1 else "", owns[0] if len(owns) == 1 else "")


def owners(a: Profile, b: Profile) -> Found | None:
    """ "Can my manager see my calendar" and "can I see my manager's calendar": who acts in one owns in the other."""
    for x, y in ((a, b), (b, a)):
        tx, ty = x.template, y.template
        at = 0
        while at < min(len(tx), len(ty)) and tx[at].value == ty[at].value:
            at += 1
        if at + 1 >= min(len(tx), len(ty)) or tx[at].kind != "word" or ty[at].value != "i":
            continue
        owner = next((w for w in ty[at + 2 :] if w.value == tx[at].value), None)
        if owner is None or tx[at + 1].kind != "word" or tx[at + 1].value != ty[at + 1].value:
            continue
        if any(t.word == "s" and t.start == owner.end + 1 for t in y.tokens):
            return Found("role_swap", "suspect", *(((tx[at],), (ty[at],)) if x is a else ((ty[at],), (tx[at],))))
    return None
