"""Words and phrases that ask for the same thing in prompts, by hand. Data only.

One group a line; the first word stands for the group. Used on base forms; WordNet's groups come on top where two texts
are otherwise equal. A group holds what may be exchanged in a question without another answer, not what is near.
"""

from __future__ import annotations

__all__ = ["SYNONYMS"]

SYNONYMS = """
    delete remove erase wipe scrap discard purge
    cancel terminate void
    change update modify edit amend alter adjust switch
    create make generate produce
    begin start commence kickoff
    end finish conclude
    close shut
    buy purchase
    get obtain acquire receive
    find locate discover
    see view look check
    show display list present
    fix repair mend resolve
    help assist support aid
    send email mail submit forward transmit
    ship deliver dispatch
    shipping delivery shipment postage
    pay settle
    price cost fee charge rate tariff pricing
    cheap inexpensive affordable
    expensive costly pricey dear
    purchase buy
    big large huge
    small little tiny
    fast quick rapid speedy
    speed velocity
    begin start
    use utilize employ
    explain describe clarify
    tell inform
    allow permit let authorize able
    forbid prohibit ban disallow
    stop halt cease prevent
    error fault failure problem issue bug
    fail break crash
    company business firm
    staff employee personnel worker
    kid child children
    infant baby newborn
    picture photo image photograph
    movie film
    car automobile vehicle
    doctor physician gp
    medicine medication drug
    pharmacy chemist drugstore
    holiday vacation
    flat apartment
    mobile phone cellphone smartphone telephone
    computer pc laptop
    luggage baggage bag
    parcel package
    client customer
    user person people someone somebody anyone
    document file
    folder directory
    app application program software
    site website webpage
    internet broadband wifi
    email mail
    account profile
    password passcode
    credential login
    sign_up register enroll
    log_in sign_in
    log_out sign_out
    activate enable
    deactivate disable
    set_up configure setup install
    setting configuration preference option
    dashboard console
    repository repo
    database db
    environment env
    production prod
    development dev
    documentation docs manual guide
    directory dir
    specification spec
    admin administrator
    authentication auth
    information info detail
    maximum max
    minimum min
    average mean
    approximately about around roughly
    statistic stats
    message msg
    number no num
    reply respond answer response
    require need
    must should
    annual yearly
    permitted allowed
    eligible entitled qualify
    illegal unlawful
    legal lawful permissible
    safe ok okay fine secure
    dangerous hazardous unsafe
    symptom sign
    illness disease sickness
    flu influenza
    university uni
    renter tenant lessee
    landlord lessor
    lease tenancy
    rent rental
    bill invoice
    refund reimbursement repay reimburse
    voucher coupon
    discount reduction
    deposit downpayment
    appointment booking
    book reserve schedule
    reservation booking
    cover include
    coverage cover
    insurance policy
    dispute challenge contest
    recommend suggest advise
    best optimal ideal
    way method approach process procedure step
    difference distinction
    benefit advantage perk
    drawback disadvantage downside con
    reason cause
    purpose goal aim
    effect impact consequence
    reset restore
    forget lose
    lost missing
    freeze lock
    quote quotation
    mute silence
    defer postpone delay
    renew extend
    transfer move migrate
    combine merge
    separate split
    tell say
    road street
    film movie
    couch sofa
    garbage trash rubbish waste
    autumn fall
    postcode zipcode
    surname lastname
    takeaway takeout
    cinema theater
    petrol gasoline gas
    toilet bathroom restroom
    shop store
    trip journey travel
    city town
    kid child
    mother mum mom mummy mommy
    father dad daddy
    grandmother grandma
    grandfather grandpa
    usa us america
    uk britain
    incident outage
    latency delay
    threshold limit cap
    quota allowance limit
    deadline duedate
    due payable
    timeout expiry expiration
    expire lapse
    retry reattempt
    request call
    function method
    parameter argument
    variable var
    run execute launch
    build compile
    deploy release rollout
    display screen
    choose select pick
    verify validate check confirm
    ensure guarantee
    convert transform turn
    translate render
    summarize condense recap
    summary recap overview
    write compose draft
    brief short concise
    improve enhance better
    increase raise boost
    decrease reduce lower cut
    replace substitute swap
    return send_back
    accept take
    join enter
    available offered
    open accessible
    wrong incorrect
    right correct
    quickly fast rapidly
    currently now presently
    often frequently
    usually normally typically generally
    another other
    grade result mark
    exam test
    agency agent
    degree course
    pupil student
    pool swimming_pool
    ticket fare
    seat place
    phone_number contact_number
    zip postcode
    cost price
    happen occur
    contact reach
    unblock clear
    fit install
    leak drip
    kilo kilogram
    theme mode
    tier plan
    plane flight
    physician doctor
    fee price
    angry furious
    smart intelligent clever
    sick ill unwell
    glad happy
    sad unhappy
    afraid scared
    rich wealthy
    courageous brave
    humble modest
    vocal outspoken
    optimistic hopeful
"""
