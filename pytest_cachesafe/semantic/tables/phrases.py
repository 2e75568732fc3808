"""Phrases that stand for one word, or for nothing, in a prompt. Data only.

`PHRASES`: `words = word`, matched on lower-case words before base forms are made. `EMPTY`: politeness, hesitation and
announcements of the question, which never change its answer.
"""

from __future__ import annotations

__all__ = ["CONTRACTED", "COURTESY", "COURTESY_MARKS", "EDGE", "EMPTY", "PHRASES", "SEPARABLE"]

PHRASES = """
    turn on = enable
    turns on = enable
    turned on = enable
    turning on = enable
    turn off = disable
    turns off = disable
    turned off = disable
    turning off = disable
    switch on = enable
    switching on = enable
    switch off = disable
    switching off = disable
    shut off = disable
    shut down = stop
    opt in = opt_in
    opt out = opt_out
    opted in = opt_in
    opted out = opt_out
    log in = log_in
    login = log_in
    logging in = log_in
    logged in = log_in
    log on = log_in
    log out = log_out
    logout = log_out
    logged out = log_out
    log off = log_out
    logging out = log_out
    sign in = log_in
    signin = log_in
    signing in = log_in
    sign out = log_out
    signout = log_out
    sign up = sign_up
    signup = sign_up
    signing up = sign_up
    check in = check_in
    check out = check_out
    checkin = check_in
    scale up = scale_up
    scale down = scale_down
    speed up = speed_up
    slow down = slow_down
    turn up = turn_up
    turn down = turn_down
    set up = set_up
    setup = set_up
    setting up = set_up
    get rid of = delete
    put off = delay
    call off = cancel
    fill in = complete
    find out = find
    figure out = find
    look for = find
    look up = find
    work out = find
    hand in = submit
    give up = quit
    carry out = run
    pick up = pickup
    take away = takeaway
    get back = recover
    go about =
    do i like = do i
    can i like = can i
    do you like have = do you have
    i guess =
    or something =
    or whatever =
    two factor authentication = 2fa
    2 factor authentication = 2fa
    two factor auth = 2fa
    two factor sign in = 2fa
    two factor login = 2fa
    two step verification = 2fa
    2 step verification = 2fa
    two step login = 2fa
    two step sign in = 2fa
    two factor = 2fa
    mfa = 2fa
    multi factor authentication = 2fa
    multifactor authentication = 2fa
    single sign on = sso
    swimming pool = pool
    phone number = phone_number
    telephone number = phone_number
    contact number = phone_number
    credit card = credit_card
    debit card = debit_card
    first class = first_class
    business class = business
    pull request = pr
    software development kit = sdk
    application programming interface = api
    identity document = id
    frequently asked questions = faq
    terms and conditions = terms
    question and answer = qa
    artificial intelligence = ai
    machine learning = ml
    operating system = os
    user interface = ui
    user experience = ux
    command line = cli
    personal computer = pc
    virtual machine = vm
    continuous integration = ci
    proof of concept = poc
    service level agreement = sla
    value added tax = vat
    human resources = hr
    united states of america = usa
    united states = usa
    the us = usa
    the u s = usa
    u s a = usa
    u s = usa
    united kingdom = uk
    great britain = uk
    u k = uk
    european union = eu
    new york city = new_york
    new york = new_york
    nyc = new_york
    los angeles = los_angeles
    san francisco = san_francisco
    new zealand = new_zealand
    south africa = south_africa
    south korea = south_korea
    north korea = north_korea
    hong kong = hong_kong
    saudi arabia = saudi_arabia
    amazon web services = aws
    google cloud platform = gcp
    google cloud = gcp
    microsoft azure = azure
    k8s = kubernetes
    postgresql = postgres
    golang = go_language
    js = javascript
    ts = typescript
    py = python
    c sharp = csharp
    node js = nodejs
    visual studio code = vscode
    vs code = vscode
    google docs = google_docs
    word document = docx
    word documents = docx
    word file = docx
    excel file = xlsx
    excel sheet = xlsx
    excel spreadsheet = xlsx
    plain text = plaintext
    at least = at_least
    no less than = at_least
    no fewer than = at_least
    not less than = at_least
    at the least = at_least
    or more = at_least
    a minimum of = at_least
    minimum of = at_least
    at most = at_most
    no more than = at_most
    not more than = at_most
    or less = at_most
    or fewer = at_most
    a maximum of = at_most
    maximum of = at_most
    up to = at_most
    more than = more_than
    greater than = more_than
    bigger than = more_than
    larger than = more_than
    higher than = more_than
    in excess of = more_than
    less than = less_than
    fewer than = less_than
    lower than = less_than
    smaller than = less_than
    prior to = before
    ahead of = before
    in advance of = before
    subsequent to = after
    following on from = after
    in front of = in_front_of
    out of hours = out_of_hours
    out of = out_of
    away from = away_from
    as well as = and
    along with = with
    together with = with
    except for = except
    apart from = except
    other than = except
    instead of = instead_of
    rather than = instead_of
    because of = because
    due to = because
    in order to = to
    so as to = to
    so that = to
    in case = if
    as long as = if
    provided that = if
    no longer = not
    any longer =
    any more =
    anymore =
    not only = also
    whether or not = if
    or not =
    if not =
    why not = why
    no matter = regardless
    not sure =
    not certain =
    no problem =
    no worries =
    no rush =
    no hurry =
    unable to = not can
    not able to = not can
    able to = can
    incapable of = not can
    cannot = can not
    2 fa = 2fa
    not possible = not can
    impossible = not possible
    failed to = not
    fails to = not
    fail to = not
    refuses to = not
    refuse to = not
    lack of = without
    lacking = without
    free of charge = free
    for free = free
    at no cost = free
    at no charge = free
    at no extra cost = free
    without charge = free
    full time = full_time
    part time = part_time
    self employed = self_employed
    non refundable = not refundable
    non stop = direct
    nonstop = direct
    one way = one_way
    round trip = return
    a lot of = many
    lots of = many
    plenty of = many
    a number of = many
    a few = few
    a little = little
    a couple of = 2
    a couple = 2
    a pair of = 2
    a dozen = 12
    half a dozen = 6
    have to = must
    has to = must
    need to = must
    needs to = must
    got to = must
    obliged to = must
    required to = must
    supposed to = must
    ought to = must
    have got = have
    has got = has
    going to = will
    about to = will
    used to be = past_be
    use to be = past_be
    going on = happening
    what time = when
    at what time = when
    on what date = when
    by when = when
    when is last = last
    which day = when
    what day = when
    what date = when
    what place = where
    what location = where
    how come = why
    what for = why
    for what reason = why
    in what way = how
    in which way = how
    what is the best way to = how do i
    what is the right way to = how do i
    what is the correct way to = how do i
    what is the quickest way to = how do i
    what would be the best way to = how do i
    what do i need to do to = how do i
    what do i have to do to = how do i
    what must i do to = how do i
    what should i do to = how do i
    how would one = how do i
    how does one = how do i
    how might i = how do i
    how am i able to = how can i
    how is it possible to = how can i
    in what way can i = how do i
    what steps do i take to = how do i
    what are the steps for = how do i
    what s the easiest way to = how do i
    what s the quickest way to = how do i
    what s the procedure for = how do i
    what s the process to = how do i
    what is the process to = how do i
    what is the procedure to = how do i
    is there an option to = how do i
    is there a possibility to = can i
    would it be possible to = can i
    is it allowed to = can i
    is it permitted to = can i
    am i permitted to = can i
    may i = can i
    do i have permission to = can i
    are there any = is there
    have you got = do you have
    do you offer = do you have
    what is the way to = how do i
    what s the best way to = how do i
    what s the way to = how do i
    whats the best way to = how do i
    whats the way to = how do i
    what are the steps to = how do i
    what is the process for = how do i
    what s the process for = how do i
    what is the procedure for = how do i
    what is the easiest way to = how do i
    is there a way to = how do i
    is there any way to = how do i
    is it possible for me to = can i
    is it possible to = can i
    is it ok to = can i
    is it okay to = can i
    is it fine to = can i
    is it ok for me to = can i
    am i allowed to = can i
    am i able to = can i
    are we allowed to = can i
    are you allowed to = can i
    how much does it cost to = what price to
    how much does it cost for = what price
    how much does = what price
    how much do = what price
    how much is = what price
    how much are = what price
    how much did = what price
    how much for = what price
    how old = what age
    how long = what duration
    how often = what frequency
    how far = what distance
    how big = what size
    how large = what size
    how tall = what height
    how heavy = what weight
    how fast = what speed
    how hot = what temperature
    how cold = what temperature
    who is the author of = who write
    who s the author of = who write
    who was the author of = who write
    is married to = marry
    lost property = lost_property
    give me a list of = list
    give me = show
    give us = show
    show me = show
    tell me = tell
    let me know = tell
    get hold of = get
    gain access to = access
    take place = happen
    make sure = ensure
    in fact =
    of course =
    as a matter of fact =
    by any chance =
    at all =
    at the moment = now
    right now = now
    these days = now
    at present = now
    as soon as possible = asap
    per annum = yearly
    p a = yearly
    each other =
    one another =
    kind of =
    sort of =
    type of =
    types of =
    kinds of =
    such as = like
    for example =
    for instance =
    e g =
    i e =
    et cetera =
    etc =
"""

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

EMPTY = """
    please
    pls
    plz
    kindly
    thanks
    thank you
    thanks a lot
    thanks a million
    out of interest
    i was just wondering
    i m just wondering
    i am just wondering
    thanks so much
    many thanks
    thank you very much
    thank you so much
    thanks in advance
    thank you in advance
    thx
    cheers
    ta
    much appreciated
    appreciate it
    i would appreciate it
    i d appreciate it
    hi
    hi there
    hello
    hello there
    hey
    hey there
    greetings
    dear team
    dear support
    good morning
    good afternoon
    good evening
    good day
    excuse me
    pardon me
    sorry to bother you
    sorry to bother you but
    sorry for bothering you
    sorry silly question
    sorry but
    silly question
    silly question but
    stupid question
    dumb question
    quick question
    just a quick question
    a quick question
    i have a question
    i had a question
    i have a quick question
    if you don t mind
    if you do not mind
    if you don t mind me asking
    if possible
    if you can
    if you could
    if that s ok
    if that is ok
    when you get a chance
    when you have a moment
    would you mind
    would you be able to
    would you be so kind as to
    would you kindly
    could you please
    can you please
    can you tell me
    could you tell me
    would you tell me
    can you help me
    can you help me to
    could you help me
    can you let me know
    could you let me know
    could you explain to me
    can someone tell me
    can anyone tell me
    can anybody tell me
    could someone tell me
    does anyone know
    does anybody know
    do you know
    do you happen to know
    any idea
    any ideas
    please tell me
    tell me please
    please let me know
    i was wondering
    i was wondering if you could tell me
    i am wondering
    i m wondering
    i wonder
    just wondering
    i would like to know
    i d like to know
    i want to know
    i need to know
    i would like to ask
    i d like to ask
    i wanted to ask
    i d love to know
    may i ask
    might i ask
    can i ask
    can i just ask
    let me ask
    just checking
    just curious
    out of curiosity
    i am curious
    i m curious
    i am trying to find out
    i m trying to find out
    i am not sure
    i m not sure
    um
    umm
    uh
    uhh
    er
    erm
    hmm
    well
    ok so
    okay so
    so um
    so uh
    you know
    i mean
    basically
    actually
    literally
    honestly
    simply
    just
    really
    quite
    very
    exactly
    indeed
    definitely
    certainly
    possibly
    perhaps
    maybe
    isn t it
    aren t you
    aren t they
    don t you
    don t they
    doesn t it
    won t it
    won t you
    can t you
    is it not
    am i right
"""

# A clause of nothing but edge words is empty: ", right?", "Morning!".
EDGE = frozenset(
    "so ok okay morning afternoon evening right sorry also and but now then thanks team correct yes urgent urgently help "
    "question alright oh ah guys folks all there hiya hi hello hey yeah yep lol haha asap btw fyi mate again "
    "quickly cheers ta anyway anyways kind best warm regards".split()
)

# A clause of nothing but these and function words is courtesy if one of the marks is in it: "Sorry for the bother",
# "Any help would be greatly appreciated", "Hope you are well".
COURTESY_MARKS = frozenset(
    "thank thanks sorry apologies apologize apologise appreciate appreciated obliged grateful hope regards hello hi hiya "
    "hey dear help advise pardon forgive bother bothering disturb disturbing wondering curious curiosity favor favour "
    "question questions regards greetings sincerely chance whom wish idea ideas interest interested mind".split()
)
COURTESY = COURTESY_MARKS | frozenset(
    "please well doing day good great nice lovely weekend week silly dumb stupid quick basic simple noob newbie odd weird "
    "sir madam team support everyone all there folks guys friends friend kind best warm much many lot greatly really very "
    "truly so just really deeply million advance kindly ask asking tell telling know knowing need require want would like "
    "concern ignorance may might me you your yours my i we us it is are be am was were do does can could if that this "
    "these any some one another more thing in of for from on about with to the a an or and but not sure s m re ve d ll "
    "out bit time trouble someone somebody anyone anybody first advise assist assistance help way moment who "
    "again finding fine today hear from".split()
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
