"""Courtesy that is known by the clause, contractions, and verbs whose particle may stand apart. Data only."""

from __future__ import annotations

from pytest_cachesafe.semantic.tables.word_set import word_set

__all__ = [
    "CLOSINGS",
    "CONTRACTED",
    "COURTESY",
    "COURTESY_MARKS",
    "EDGE",
    "HESITATION",
    "SEPARABLE",
    "SIGNED",
    "TAGS",
    "TURNS",
]

# Verb and particle with the object between them ("turn the alerts off"): verb, particle = word.
SEPARABLE = """
    turn on = enable
    turn off = disable
    turning on = enable
    turning off = disable
    turned on = enable
    turned off = disable
    switch on = enable
    switch off = disable
    switching off = disable
    switching on = enable
    shut down = stop
    set up = set_up
    turn up = turn_up
    turn down = turn_down
    scale up = scale_up
    scale down = scale_down
    call off = cancel
    put off = delay
"""

# Questions at the end of a clause that ask for a nod; anywhere else they are the question: "why is it not …".
TAGS = frozenset(
    tuple(line.split())
    for line in (
        "is it not",
        "is not it",
        "was not it",
        "are not they",
        "are not you",
        "can not you",
        "does not it",
        "do not they",
        "do not you",
        "did not it",
        "will not it",
        "will not you",
    )
)

# The last words of a letter, also where no mark stands in front of them.
CLOSINGS = frozenset(
    tuple(line.split())
    for line in (
        "kind regards",
        "best regards",
        "warm regards",
        "warmest regards",
        "many regards",
        "best wishes",
        "warm wishes",
        "yours sincerely",
        "yours faithfully",
        "yours truly",
        "sincerely yours",
    )
)

# Closings of one word, on a line of their own above a name; elsewhere they mean something.
SIGNED = frozenset((("regards",), ("best",), ("sincerely",)))

# Sounds of hesitation, empty wherever they stand, between the words of a phrase as well.
HESITATION = word_set("um umm uhm uh uhh er err erm ehm eh ah huh hm hmm yeah yep ok okay oi yo kinda sorta")

# Words that only turn to the question in front of one: "right, what is …", "wait, does …".
TURNS = word_set("right wait listen look question explain say basically on hang honestly actually well mate anyone")

# A clause of nothing but edge words is empty: ", right?", "Morning!".
EDGE = word_set(
    "wait listen look so ok okay morning afternoon evening right sorry also and but now then thanks team correct "
    "yes urgent urgently help question alright oh ah guys folks all there hiya hi hello hey yeah yep lol haha asap "
    "btw fyi mate again quickly cheers ta anyway anyways kind best warm regards"
)

# A clause of nothing but these and function words is courtesy if one of the marks is in it: "Sorry for the bother",
# "Any help would be greatly appreciated", "Hope you are well".
COURTESY_MARKS = word_set(
    "thank thanks sorry apologies apologize apologise appreciate appreciated obliged grateful hope regards hello hi "
    "hiya hey dear help advise pardon forgive bother bothering disturb disturbing wondering curious curiosity favor "
    "favour question questions greetings sincerely chance whom wish idea ideas interest interested mind"
)
COURTESY = COURTESY_MARKS | word_set(
    "please well doing day good great nice lovely weekend week silly dumb stupid quick basic simple noob newbie odd "
    "weird sir madam team support everyone all there folks guys friends friend kind best warm much many lot greatly "
    "really very truly so just deeply million advance kindly ask asking tell telling know knowing need require want "
    "would like concern ignorance may might me you your yours my i we us it is are be am was were do does can could "
    "if that this these any some one another more thing in of for from on about with to the a an or and but not "
    "sure s m re ve d ll out bit time trouble someone somebody anyone anybody first advise assist assistance help "
    "way moment who again finding fine today hear"
)

# Contractions that are written without the apostrophe.
CONTRACTED = {
    "dont": "do not", "doesnt": "does not", "didnt": "did not", "isnt": "is not", "arent": "are not",
    "wasnt": "was not", "werent": "were not", "wouldnt": "would not", "couldnt": "could not", "shouldnt": "should not",
    "hasnt": "has not", "havent": "have not", "hadnt": "had not", "cant": "can not", "wont": "will not",
    "whats": "what is", "wheres": "where is", "hows": "how is", "whos": "who is", "whens": "when is",
    "im": "i am", "ive": "i have", "youre": "you are", "theyre": "they are", "thats": "that is", "theres": "there is",
    "gonna": "will", "wanna": "want to", "gotta": "must", "lemme": "let me", "gimme": "show", "ain't": "is not",
    "u": "you", "ur": "your", "r": "are", "ya": "you", "appt": "appointment", "acct": "account", "pwd": "password",
    "pw": "password", "dept": "department", "govt": "government", "mgr": "manager", "mgmt": "management",
    "qty": "quantity", "amt": "amount", "addr": "address", "config": "configuration", "auth": "authentication",
    "thru": "through", "cos": "because", "cuz": "because", "bc": "because", "tmrw": "tomorrow", "tmr": "tomorrow",
    "alot": "many", "approx": "about", "tel": "phone", "temp": "temporary", "esp": "especially", "engg": "engineering",
    "max": "maximum", "req": "request",
    "num": "number", "nos": "numbers", "txn": "transaction", "dob": "birthday", "pls": "", "plz": "",
}  # fmt: skip
