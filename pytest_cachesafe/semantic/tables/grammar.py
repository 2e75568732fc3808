"""Function words of English, irregular forms and spelling variants. Data only."""

from __future__ import annotations

from pytest_cachesafe.semantic.tables.word_set import word_list, word_set

__all__ = [
    "ARTICLES",
    "AUX",
    "BOTH_WAYS",
    "CONFUSED",
    "CONNECTORS",
    "FILLERS",
    "FOREIGN",
    "FUNCTION",
    "IRREGULAR",
    "LIGHT",
    "NEGATIONS",
    "PERSONS",
    "QUANTIFIERS",
    "SYMMETRIC",
    "TENSES",
    "THIN",
    "VOCABULARY",
]

# Dropped from the template: they never decide on an answer.
ARTICLES = word_set("itself themselves a an the this that these those some any there it its one of to s d ll ve re m")

# Forms of be, do, have and modals that stand for one another in a question.
AUX = word_set(
    "be am is are was were been being do does did doing done have has had having can could may might would will "
    "shall past_be gets got"
)

TENSES = {
    "did": "did", "was": "past", "were": "past", "had": "past", "past_be": "used", "will": "future", "shall": "future",
    "do": "does", "does": "does", "is": "present", "are": "present", "am": "present", "becoming": "becoming",
    "being": "being",
}  # fmt: skip

NEGATIONS = word_set("not no never without none neither nor nothing nobody nowhere hardly barely except non")

# Words with little meaning of their own: missing on one side, they say nothing.
LIGHT = word_set(
    "agency provider department authority program session location premise handset screen section menu setting "
    "feature tool form procedure purchase entry record copy unit level individual someone somebody go come guy bit "
    "bring get make take do have use want like need find know try keep put give let help see look say tell thing "
    "way must should possible happen able work mean involve detail information time day case kind sort option "
    "process own new current please exist offer available allow follow step number name page place support item "
    "list people person user account app service system team start begin become feel seem consider considered earn "
    "obtain receive costing spend existence world life present reason solution scope aspect area part policy bill "
    "document scheme company office shop store center website device machine pc term subject overall main favorite "
    "great top suitable viable worth regard regarding concern related facility package product spare handy hold "
    "fill carry provide request enquire ask set_up complete proceed ensure"
)

# Words that add little where only one prompt has them, though two of them are not the same.
THIN = word_set(
    "learn study buy visit watch read write play run post prepare create call choose pick eat cook wear order basic "
    "true common cool important big interesting interest fun fast example far self human experience currently go "
    "stay sort describe feature involve mention lead matter issue question answer idea fact thought opinion"
)

# Adverbs and the like which add nothing to a question.
FILLERS = word_set(
    "regular standard normal official overall general typical usual approximate necessary required relevant correct "
    "valid existing additional extra local nearby yet though sometime sometimes anywhere somewhere straight "
    "separate exact usually normally typically generally currently now still already ever even also too only_just "
    "always_just then again together own indeed anyway anyhow somehow eventually finally immediately today_just "
    "online_just here properly correctly successfully easily easy best better good suddenly ultimately legally "
    "simply officially accidentally personally directly automatically ahead back over up down out away off through "
    "around along about so well oh such much many more most less least fewer lot bit really basically exactly "
    "specifically approximately roughly particular specific certain various different several whole entire full "
    "actual real simple quick truly possible effective proper suitable great amazing awesome nice favorite "
    "favourite top honest serious kinda sorta alot max"
)

PERSONS = {
    "he": "he", "him": "he", "his": "he", "himself": "he", "she": "she", "her": "she", "hers": "she", "herself": "she",
    "they": "they", "them": "they", "their": "they", "theirs": "they", "themselves": "they",
}  # fmt: skip

# all, some and none: which two of them may not share an answer.
QUANTIFIERS = {
    "all": "all", "every": "all", "each": "all", "everything": "all", "everyone": "all", "everybody": "all",
    "whole": "all", "entire": "all", "some": "some", "several": "some", "few": "few", "many": "many", "most": "most",
    "only": "only", "solely": "only", "exclusively": "only", "both": "both", "either": "either", "half": "half",
    "always": "always", "sometimes": "sometimes", "rarely": "rarely", "seldom": "rarely",
}  # fmt: skip

# What joins two words whose order does not matter.
CONNECTORS = word_set("and or with vs versus against between & nor alongside")
SYMMETRIC = word_set(
    "compare compatible comparison difference differ different similar same equal married marry dating date friend "
    "related relation combine mix merge meet interact interaction conflict choose engage engaged sibling cousin "
    "neighbor neighbour distance correlate cooperate collaborate versus vs between partner communicate talk overlap "
    "adjacent together integrate exchange twin equivalent match share living live relate connect connected link "
    "linked belong tie bond akin alike"
)

# What is the same from A to B as from B to A.
BOTH_WAYS = word_set(
    "distance difference differ different relation related relate correlate equivalent similar alike akin connect "
    "connected connection link linked between adjacent overlap"
)

FUNCTION = word_set(
    "i me my mine myself you your yours yourself we us our ours ourselves he him his she her hers they them their "
    "theirs it its who whom whose what which when where why how that this these those there here a an the and or "
    "but if because as until till while of at by for with about against between into through during before after above "
    "below to from up down in out on off over under again further then once than too so not no nor only own same "
    "such both each other some any all every can could may might will would shall should must ought am is are was "
    "were be been being have has had having do does did doing done get got per via upon onto within without across "
    "along toward towards among since despite though although whether unless anything something nothing everything "
    "anyone someone everyone nobody also just very let one ones s d ll ve re m past_be at_least at_most more_than "
    "less_than in_front_of out_of away_from instead_of except vs versus"
)

# Words that a prompt in another language has and one in English hardly ever; two of them and no English one decide.
FOREIGN = word_set(
    "der die das und ist nicht ein eine einen einem ich wie wird kann mit für auf von zu den dem des im sie wir ihr "
    "was wo warum welche mein meine mir mich sich bitte le la les est une un je vous nous comment puis pas pour "
    "dans sur avec mon ma mes quel quelle quels que qui où pourquoi du au aux ce cette el los las es una uno yo "
    "cómo como puedo para por con mi mis qué cuál cuáles dónde cuándo del al se su en no il lo gli è sono che come "
    "posso per mio mia quale quali dove perché di da nel della o os as é um uma eu com meu minha qual quais onde "
    "quando do na não het een is niet ik hoe kan met voor op van naar mijn wat waar waarom welke de jak czy nie "
    "jest mogę moje moja się w z co gdzie kiedy hur jag och är inte med för på av till min mitt vad var när nasıl "
    "bir ve bu ne için ile mı"
)

IRREGULAR = {
    "went": "go", "gone": "go", "goes": "go", "bought": "buy", "sold": "sell", "sent": "send", "got": "get",
    "gotten": "get", "made": "make", "paid": "pay", "left": "left", "lost": "lost", "found": "find", "took": "take",
    "taken": "take", "gave": "give", "given": "give", "wrote": "write", "written": "write", "ran": "run",
    "broke": "break", "broken": "break", "forgot": "forget", "forgotten": "forget", "kept": "keep", "held": "hold",
    "won": "win", "met": "meet", "chose": "choose", "chosen": "choose", "spent": "spend", "built": "build",
    "drove": "drive", "driven": "drive", "ate": "eat", "eaten": "eat", "drank": "drink", "drunk": "drink",
    "flew": "fly", "flown": "fly", "grew": "grow", "grown": "grow", "knew": "know", "known": "know", "saw": "see",
    "seen": "see", "said": "say", "told": "tell", "thought": "think", "understood": "understand", "came": "come",
    "became": "become", "began": "begin", "begun": "begin", "shown": "show", "hid": "hide", "hidden": "hide",
    "froze": "freeze", "frozen": "frozen", "stole": "steal", "stolen": "steal", "spoke": "speak", "spoken": "speak",
    "taught": "teach", "caught": "catch", "fell": "fall", "fallen": "fall", "felt": "feel", "fed": "feed",
    "men": "man", "women": "woman", "children": "child", "people": "people", "feet": "foot", "teeth": "tooth",
    "mice": "mouse", "lives": "life", "wives": "wife", "knives": "knife", "leaves": "leave", "data": "data",
    "criteria": "criterion", "indices": "index", "indexes": "index", "analyses": "analysis", "hypotheses": "hypothesis",
    "better": "better", "best": "best", "worse": "worse", "worst": "worst", "less": "less", "least": "least",
    "more": "more", "most": "most", "further": "far", "furthest": "far", "elder": "old", "this": "this", "was": "was",
    "does": "does", "has": "has", "his": "his", "news": "news", "series": "series", "species": "species",
    "status": "status", "address": "address", "business": "business", "access": "access", "process": "process",
    "always": "always", "perhaps": "perhaps", "during": "during", "thing": "thing", "nothing": "nothing",
    "something": "something", "everything": "everything", "anything": "anything", "morning": "morning",
    "evening": "evening", "building": "building", "buildings": "building", "bring": "bring", "string": "string",
    "king": "king", "ring": "ring", "spring": "spring", "need": "need", "feed": "feed", "seed": "seed",
    "speed": "speed", "red": "red", "bed": "bed", "bus": "bus", "gas": "gas", "plus": "plus", "lens": "lens",
    "never": "never", "ever": "ever", "over": "over", "under": "under", "after": "after", "other": "other",
    "water": "water", "paper": "paper", "letter": "letter", "number": "number", "order": "order", "user": "user",
    "server": "server", "customer": "customer", "member": "member", "computer": "computer", "winter": "winter",
    "summer": "summer", "later": "later", "earlier": "earlier", "latest": "latest", "earliest": "earliest",
    "interest": "interest", "request": "request", "test": "test", "rest": "rest", "guest": "guest",
    "meeting": "meeting", "meetings": "meeting", "setting": "setting", "settings": "setting", "lying": "lie",
    "dying": "die", "tying": "tie", "using": "use", "used": "use", "being": "being", "cheaper": "cheap",
    "upper": "upper", "lower": "lower", "lowered": "lower", "lowering": "lower", "travelling": "travel",
    "cancelled": "cancel", "cancelling": "cancel", "cancellation": "cancel", "labelled": "label",
}  # fmt: skip

# Common words of prompts that WordNet does not have.
VOCABULARY = word_set(
    "api apis webhook webhooks login logout signup url urls json csv pdf html css xml yaml sql ui ux sdk cli ide "
    "sso vpn dns ip http https ssl tls ssh ftp cpu gpu ram ssd usb wifi vat faq pr prs ci cd etc vs ok okay hi app "
    "apps email emails online offline website websites webpage username usernames admin admins frontend backend "
    "fullstack endpoint endpoints timestamp timestamps changelog refactor refactoring namespace middleware runtime "
    "checkout dataset datasets workflow workflows chatbot chatbots smartphone smartphones screenshot screenshots "
    "dropdown popup hashtag podcast podcasts influencer crypto blockchain startup startups homepage upload uploads "
    "download downloads preorder unsubscribe resubscribe deactivate deactivated unmute undo redo rollback rollout "
    "whitelist blacklist allowlist blocklist autosave autofill auto config configs env repo repos async sync "
    "metadata tenant sandbox healthcheck failover autoscale autoscaling serverless tokenizer embedding embeddings "
    "prompt prompts nonprofit nonprofits mortgage savings postcode takeaway brunch toddler carryon layover "
    "onboarding offboarding timezone timeout retry retries throttle throttling cache caching caches schema "
    "quickstart dev ops inbox spam unban unblock unfollow unpin unlink unarchive unassign selfie selfies blog blogs "
    "vlog vegan vegans aftershave limescale dine checkin pickup dropoff reorder refundable unlimited multi non pre "
    "post ultra eco saver whats how2 2fa sku skus kpi kpis roi mvp crm erp saas paas iaas llm llms ai ml nlp rag "
    "ota qa html5 coworking coworker coworkers freelancer freelancers teammate teammates hotspot touchscreen "
    "voicemail"
)

# Words that are written for one another by a slip, though both exist; asked only where the other prompt has the second.
CONFUSED: dict[str, tuple[str, ...]] = {}
for _pair in word_list(
    "calender/calendar form/from dose/does were/where then/than there/their there/they're their/there your/you "
    "to/too too/to quite/quiet weather/whether by/buy now/know hear/here here/hear trail/trial trial/trail "
    "loose/lose fro/for fir/for fo/of fo/for ot/to hte/the ad/and an/and si/is ti/it cna/can nad/and adn/and "
    "doe/does wont/won't advise/advice advice/advise license/licence principal/principle stationary/stationery "
    "brake/break break/brake past/passed plain/plane sight/site site/sight waist/waste meet/meat meat/meet "
    "male/mail mail/male sale/sail debt/debit debit/debt buys/busy pubic/public manger/manager sing/sign "
    "untied/united clam/calm sever/server bran/brand filed/field filing/filling causal/casual hose/house "
    "desert/dessert coarse/course cant/can't"
):
    _wrong, _meant = _pair.split("/")
    CONFUSED[_wrong] = (*CONFUSED.get(_wrong, ()), _meant)
