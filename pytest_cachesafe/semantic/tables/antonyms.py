"""Opposites of everyday operation, support and commerce, by hand. Data only.

WordNet's antonyms (`wordnet/antonyms.txt`) lack most of these. Base forms only: inflections follow by rule
(`text/morphology.py`). Words that are joined by `_` are phrases of `phrases.py`, or two words that are matched as one.
"""

from __future__ import annotations

__all__ = ["ANTONYMS", "NOT_ANTONYMS"]

# By kind, `one/other` pairs; a third and further word is an opposite of the first ones' kind: a/b/c are all apart.
ANTONYMS: dict[str, str] = {
    "antonym": """
        accept/reject accept/decline accept/refuse approve/reject approve/decline approve/deny approve/refuse
        activate/deactivate activate/disable enable/disable enable/deactivate enable/block
        add/remove add/delete add/subtract add/withdraw add/deduct admit/deny admit/discharge
        allow/ban allow/forbid allow/prohibit allow/block allow/deny allow/refuse allow/prevent allow/disallow
        permit/ban permit/forbid permit/prohibit permit/deny permit/prevent legal/illegal legal/forbid legal/prohibit
        authorize/deny authorize/revoke grant/revoke grant/deny grant/refuse issue/revoke assign/unassign
        agree/disagree agree/refuse appear/disappear arrive/depart arrive/leave arrival/departure
        attach/detach attract/repel
        append/prepend archive/unarchive archive/restore backup/restore ban/unban block/unblock freeze/unfreeze
        freeze/thaw hide/unhide hide/show hide/display hide/reveal mute/unmute pin/unpin lock/unlock
        follow/unfollow like/dislike love/hate trust/distrust
        begin/end begin/finish start/stop start/end start/finish start/terminate start/shutdown open/close open/shut
        pause/resume suspend/resume suspend/reinstate suspend/restore launch/terminate
        buy/sell purchase/sell buyer/seller customer/vendor borrow/lend borrower/lender lender/debtor
        creditor/debtor credit/debit deposit/withdraw deposit/withdrawal payer/payee sender/recipient sender/receiver
        send/receive give/take give/receive push/pull import/export upload/download encode/decode encrypt/decrypt
        compress/decompress compress/extract pack/unpack zip/unzip serialize/deserialize load/unload mount/unmount
        landlord/tenant employer/employee teacher/student doctor/patient host/guest parent/child adult/child
        adult/baby adult/kid adult/teenager adult/toddler adult/infant
        adult/minor boss/subordinate manager/employee provider/consumer producer/consumer client/server
        supplier/customer plaintiff/defendant driver/passenger author/reader
        author/reviewer trainer/trainee mentor/mentee interviewer/interviewee
        admin/viewer admin/guest admin/member admin/user admin/editor editor/viewer owner/member owner/viewer
        owner/guest owner/editor member/guest member/nonmember owner/collaborator
        public/private internal/external inside/outside indoor/outdoor local/remote local/global
        domestic/international domestic/foreign national/international onsite/offsite onsite/remote
        online/offline online/paper online/instore digital/paper digital/physical virtual/physical
        frontend/backend cloud/onprem static/dynamic mutable/immutable synchronous/asynchronous sync/async
        manual/automatic manually/automatically manual/auto permanent/temporary temporarily/permanently
        optional/required optional/mandatory optional/compulsory optional/obligatory voluntary/mandatory
        voluntary/compulsory required/forbidden
        include/exclude included/excluded inclusive/exclusive inclusion/exclusion cover/exclude with/without
        increase/decrease increase/reduce increase/lower raise/lower raise/reduce raise/cut rise/fall grow/shrink
        expand/shrink expand/collapse expand/contract gain/lose gain/loss profit/loss win/lose extend/shorten
        lengthen/shorten widen/narrow tighten/loosen strengthen/weaken improve/worsen speed_up/slow_down boost/reduce
        accelerate/decelerate scale_up/scale_down upscale/downscale upgrade/downgrade promote/demote upload/delete
        hire/fire employ/dismiss enroll/withdraw enroll/unenroll enroll/drop register/unregister register/deregister
        subscribe/unsubscribe subscribe/cancel opt_in/opt_out opt_in/unsubscribe join/leave sign_up/unsubscribe
        log_in/log_out sign_up/log_out check_in/check_out check_in/checkout clock_in/clock_out connect/disconnect
        link/unlink merge/split merge/separate combine/separate join/split couple/decouple install/uninstall
        create/delete create/destroy create/remove make/destroy build/demolish save/discard keep/delete keep/discard
        keep/remove retain/discard retain/delete insert/delete insert/remove set/unset select/deselect check/uncheck
        undo/redo commit/rollback deploy/rollback publish/unpublish pass/fail succeed/fail success/failure
        successful/failed success/error valid/invalid correct/incorrect correct/wrong right/wrong true/false
        yes/no safe/unsafe safe/dangerous safe/hazardous safely/dangerously healthy/unhealthy healthy/sick
        harmless/harmful good/bad best/worst better/worse advantage/disadvantage pro/con benefit/drawback
        benefit/risk strength/weakness positive/negative optimistic/pessimistic happy/sad happy/unhappy easy/hard
        easy/difficult simple/complex simple/complicated cheap/expensive cheap/dear hot/cold warm/cold warm/cool
        heat/cool heating/cooling wet/dry clean/dirty full/empty busy/quiet loud/quiet noisy/quiet fast/slow
        quick/slow quickly/slowly rapid/slow strong/weak heavy/light thick/thin hard/soft deep/shallow wide/narrow
        rich/poor young/old new/old new/used modern/ancient fresh/stale fresh/frozen raw/cooked sharp/blunt dark/light
        bright/dim day/night morning/evening morning/afternoon morning/night afternoon/evening
        summer/winter spring/autumn spring/fall summer/autumn summer/spring winter/spring winter/autumn
        weekday/weekend
        full/part full_time/part_time permanent/contract employed/unemployed employed/self_employed
        married/single married/divorced pregnant/unpregnant male/female man/woman boy/girl husband/wife
        brother/sister mother/father son/daughter men/women
        free/paid paid/unpaid free/premium free/pro basic/premium basic/pro standard/premium standard/express
        economy/business economy/first_class economy/premium starter/enterprise personal/business individual/business
        individual/company home/business single/double single/joint sole/joint single/return single/multiple
        singular/plural one_way/return prepaid/postpaid fixed/variable fixed/adjustable
        gross/net income/expense income/outgoing asset/liability revenue/cost hit/miss sunrise/sunset
        supply/demand dividend/loss tax/rebate surplus/deficit bull/bear long/short
        past/future present/absent presence/absence early/late earlier/later soon/late ahead/behind
        current/former current/previous current/next next/previous next/last previous/following old/current
        first/last initial/final top/bottom front/back front/rear left/right north/south east/west northern/southern
        eastern/western upper/lower up/down upward/downward upstairs/downstairs upstream/downstream in/out on/off
        horizontal/vertical row/column portrait/landscape odd/even same/different similar/different equal/unequal
        identical/different original/copy original/duplicate real/fake genuine/fake known/unknown
        visible/hidden visible/invisible explicit/implicit direct/indirect active/inactive active/passive
        active/expired alive/dead live/test live/staging production/staging production/development production/test
        master/slave primary/secondary primary/replica major/minor senior/junior expert/beginner expert/novice
        advanced/beginner beginner/intermediate advanced/basic undergraduate/postgraduate undergraduate/master
        formal/informal polite/rude serious/funny common/rare usual/unusual often/rarely often/seldom always/never
        everything/nothing everyone/nobody everybody/nobody someone/nobody anyone/nobody something/nothing
        everywhere/nowhere both/neither either/neither
        together/separately together/apart alone/together question/answer request/response read/write reader/writer
        input/output inflow/outflow inbound/outbound incoming/outgoing inward/outward entry/exit enter/exit enter/leave
        entrance/exit import/remove ingress/egress ascending/descending asc/desc ascend/descend climb/descend
        charge/refund charge/discharge pay/refund pay/owe debit/refund overpay/underpay overcharge/undercharge
        overestimate/underestimate overweight/underweight oversize/undersize
        outstanding/inadequate outstanding/settled outstanding/paid open/resolved open/closed pending/complete
        pending/completed resolved/unresolved solved/unsolved complete/incomplete finished/unfinished
        confirm/cancel confirm/deny confirmed/cancelled renew/cancel renew/terminate renew/expire book/cancel
        schedule/cancel order/cancel reopen/close turn_up/turn_down rent/buy rent/own lease/buy lend/return
        eligible/ineligible entitled/barred qualify/disqualify refundable/nonrefundable
        encourage/discourage recommend/discourage recommend/avoid support/oppose for/against defend/attack
        protect/expose prevent/cause prevent/allow cause/cure treat/cause hurt/heal sleep/wake remember/forget
        whitelist/blacklist allowlist/blocklist allowlist/denylist
        limit/unlimited limited/unlimited
        overtime/undertime clockwise/counterclockwise clockwise/anticlockwise odd/even sweet/sour sweet/savoury
        vegetarian/meat vegan/meat alcoholic/nonalcoholic dine_in/takeaway dine_in/delivery pickup/delivery
        collection/delivery eat/avoid wireless/wired corded/cordless waterproof/permeable
        lossy/lossless stateless/stateful sparse/dense lazy/eager blocking/nonblocking hard/soft
        uptime/downtime peak/offpeak
        wholesale/retail debit_card/credit_card lost/found lend/borrow acquittal/conviction guilty/innocent
        hypertension/hypotension hyperthyroidism/hypothyroidism hyperglycemia/hypoglycemia acute/chronic
        benign/malignant inhale/exhale ingest/vomit dilate/constrict
        """,
    "comparative": """
        high/low highest/lowest higher/lower large/small largest/smallest larger/smaller big/small bigger/smaller
        biggest/smallest long/short longest/shortest longer/shorter tall/short tallest/shortest many/few much/little
        more/less more/fewer most/least most/fewest maximum/minimum max/min maximize/minimize maximal/minimal
        at_least/at_most more_than/less_than more_than/at_most at_least/less_than
        above/below over/under greater/less greater/smaller upper/lower
        majority/minority cheapest/priciest newest/oldest latest/earliest latest/oldest fastest/slowest
        nearest/furthest near/far nearest/farthest closest/furthest close/far hottest/coldest youngest/oldest
        better/worse best/worst heavier/lighter heaviest/lightest strongest/weakest faster/slower older/newer
        older/younger earlier/later superior/inferior exceed/undercut ceiling/floor
        """,
    "direction": """
        before/after prior/after within/after during/after during/before until/after
        since/until since/before from/to into/out_of toward/away_from to/away_from
        pre/post via/despite onto/off behind/in_front_of in_front_of/behind ahead_of/behind
        """,
    "period": """
        annual/monthly yearly/monthly day/month
        """,
}  # fmt: skip

# Pairs of WordNet that are opposites of a sense which questions hardly ever mean, or are used for one another.
NOT_ANTONYMS = """
    come/go give/take give/get get/lose man/boy take/leave bring/take do/undo go/stay
    ask/answer ask/tell ask/reply buy/rent make/break want/need new/worn find/lose know/ignore work/idle work/play
    need/obviate use/misuse can/cannot have/lack be/differ same/other own/rent right/left next/last
    recent/old good/evil good/ill good/poor well/ill well/badly back/front back/forth take/give
    change/stay move/stay hold/release set/rise stand/sit stand/lie move/stand turn/straight see/blind
    place/displace order/disorder cover/uncover count/discount address/ignore number/unnumbered
    school/unschool list/delist charge/discharge carry/drop best/better
    home/away
"""
