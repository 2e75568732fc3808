"""Words and phrases that ask for the same thing in prompts, by hand. Data only.

One group a line; the first word stands for the group. Used on base forms; WordNet's groups come on top where two texts
are otherwise equal. A group holds what may be exchanged in a question without another answer, not what is near.
"""

from __future__ import annotations

__all__ = ["SYNONYMS"]

SYNONYMS = """
    delete remove erase wipe scrap discard purge clear
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
    book reserve schedule make arrange
    post mail send
    garbage trash rubbish waste refuse
    fridge refrigerator
    television tv telly
    vet veterinarian
    sofa couch settee
    nappy diaper
    lorry truck
    motorway highway freeway
    pavement sidewalk
    jumper sweater pullover
    trainers sneakers
    trouser pants
    torch flashlight
    queue line
    biscuit cookie
    sweet candy
    tap faucet
    hoover vacuum
    tyre tire
    maths math
    mom mum mother
    solicitor lawyer attorney
    estate_agent realtor
    jab vaccine vaccination injection shot
    ring call phone telephone
    send_back return
    join enroll register sign_up
    lodge file submit
    file submit lodge
    submit provide supply send
    sort resolve fix
    reissue replace
    instal install
    instalment payment installment
    sum amount
    quantity amount
    money cash fund
    earn make
    savings saving
    connect link integrate sync hook
    view see check read
    track follow trace monitor
    recover restore regain
    forgotten lost
    report notify flag
    complain complaint
    notify alert inform
    notification alert
    alarm alert
    kick remove
    leave quit exit
    quit stop
    lock freeze block
    unlock unfreeze
    hide conceal
    authorization permission approval
    permission access right
    entitlement right
    delayed late
    operating opening working
    hours times timetable schedule
    timetable schedule
    prepare study
    method technique strategy
    advice guidance help
    guide tutorial instruction manual
    instruction direction step guideline
    example sample instance
    feature functionality capability
    provider supplier vendor carrier
    supplier vendor
    seller vendor merchant retailer
    merchandise product goods item
    product item
    goods product
    guarantee warranty
    damaged broken faulty defective
    faulty defective
    broken damaged
    stolen lost
    cancelation termination
    penalty fine charge fee
    excess deductible
    quote estimate
    estimate approximate
    total overall sum
    entire whole complete
    every all
    complete finish
    finished done complete
    fill complete
    id identity identification
    nearby near close
    overseas foreign abroad international
    traveler passenger
    journey trip ride
    garden yard
    electric electrical
    slow sluggish
    bug defect issue
    glitch bug issue
    error exception
    message text
    text sms message
    newsletter mailing
    news headline
    essay paper
    prize award
    comment remark
    review rating feedback
    rating score
    score mark
    duty responsibility
    responsible accountable liable
    task job
    career profession job
    qualification requirement
    requirement prerequisite
    contract agreement
    gift present
    record entry
    chart graph plot
    graph diagram
    spreadsheet sheet
    keyboard keypad
    pic photo picture image
    audio sound
    volume sound
    background wallpaper
    weight mass
    buddy friend pal mate
    ill sick unwell
    pain ache
    ache pain
    tablet pill
    pill tablet
    dose dosage amount
    dosage dose
    harmful bad dangerous
    risk danger hazard
    danger hazard
    likely probable
    certain sure
    correct accurate
    accurate precise
    exact precise
    real genuine legitimate authentic
    fake counterfeit
    simple easy straightforward
    easy simple
    difficult hard tough challenging
    challenge difficulty
    great brilliant amazing awesome excellent fantastic good wonderful cool
    best top greatest favorite finest
    interesting fun exciting
    funny hilarious
    beautiful pretty gorgeous
    famous popular well_known
    main primary principal major key chief
    important significant crucial essential key
    necessary required essential mandatory
    useful helpful handy
    typical usual normal average
    strange weird odd
    unusual uncommon
    unique distinct
    latest newest
    modern contemporary
    previous prior earlier former
    future upcoming
    current present
    extra additional further more
    additional extra
    spare extra
    remaining left
    ensure guarantee make_sure
    assure guarantee
    overcome beat
    defeat beat
    enrich improve
    grow increase
    drop fall decline decrease
    shrink reduce
    restriction limit
    calculate compute
    solve resolve
    solution answer fix
    response answer
    query question
    enquire ask inquire
    enquiry inquiry question
    mention say
    suggest propose
    propose offer
    decide choose
    decision choice
    option choice alternative
    alternative substitute
    variant version
    copy duplicate
    clone copy duplicate
    backup copy
    rename name
    label tag
    tag label
    purchase acquisition
    basket cart
    dispatched shipped
    courier carrier
    postage shipping delivery
    tracking track
    hq headquarters
    author writer
    writer author
    logo emblem
    trademark brand
    subscription membership plan
    membership subscription
    demo demonstration
    inspect examine
    assess evaluate
    evaluate rate
    compare contrast
    differ vary
    resemble similar
    same identical
    cashpoint atm
    execute perform run
    perform do
    terminate kill
    load read
    parse read
    write save
    store save keep
    save store
    keep retain
    fetch get retrieve
    emit send
    outcome result
    aspect side
    topic subject
    subject topic
    idea concept thought
    concept notion
    meaning definition
    translate convert
    rephrase reword rewrite paraphrase
    shorten abbreviate
    correct proofread fix
    practise practice
    gun firearm
    rain rainfall
    freezing cold
    path track route
    route way
    direction route
    accident crash collision
    hurt injure
    collect pickup
    recover restore retrieve
    convert change save
    export download
    submit provide supply
    learn study
    job vacancy
    drink beverage
    meal dish
    type kind sort
    tip advice suggestion
    search look
    lookup search
    collision crash accident
    advert advertisement ad
    workout exercise
    boss manager
    colleague coworker teammate
    teenager teen
    cop police
    licence permit
    headquarters hq
    probability likelihood chance
"""
