"""The style sheet of the page, and its hash for the page's policy."""

from __future__ import annotations

__all__ = ["STYLE", "style_hash"]


def style_hash() -> str:
    """As a Content-Security-Policy names it."""
    from base64 import b64encode
    from hashlib import sha256

    return f"sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}"


# Colours: text on its ground has at least 4.5:1 in both schemes (checked in a browser by the tests).
_COLOURS = """
:root{--ground:#f6f7f9;--card:#fff;--text:#1b2330;--soft:#566072;--line:#d7dce4;--link:#0b57b5;--focus:#0b57b5;
--kept:#128272;--lost:#c8321e;--lost-soft:#f6c9c0;--missed:#a86a00;--missed-soft:#f5dfb3;--written:#3568c9;
--written-soft:#c3d4f5;--new:#a9b2c0;--good:#0d6a4f;--good-soft:#dff3ea;--bad:#ab1f10;--bad-soft:#fde6e2;
--warn:#7a4d00;--warn-soft:#fbeccb;--note-soft:#e6eaf1;--code:#eef1f5;--del:#fbd0c8;--ins:#c5ecd9}
@media(prefers-color-scheme:dark){:root{--ground:#11151b;--card:#1a2029;--text:#e6e9ef;--soft:#a3adbd;--line:#343d4b;
--link:#82b4ff;--focus:#9cc3ff;--kept:#2fae97;--lost:#f0705c;--lost-soft:#5e2219;--missed:#e0a33a;--missed-soft:#54390b;
--written:#7ba3f2;--written-soft:#223b6d;--new:#5f6b7d;--good:#7fd8b4;--good-soft:#12382b;--bad:#ff9c8b;
--bad-soft:#4a1b14;--warn:#f0c476;--warn-soft:#42300d;--note-soft:#2a323e;--code:#232b36;--del:#6b2418;--ins:#14503a}}
"""
_FRAME = """
*{box-sizing:border-box}
html{font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif;background:var(--ground);
color:var(--text);scroll-padding-top:3.5rem;-webkit-text-size-adjust:100%}
body{margin:0 auto;max-width:75rem;padding:1rem 1.25rem 3rem;overflow-wrap:anywhere}
h1,h2,h3,h4,p,ul,ol,dl,dd{margin:0;padding:0}
h1{font-size:1.75rem;line-height:1.2}
h2{font-size:1.25rem;margin:2.25rem 0 .75rem}
h3,h4{font-size:1rem;font-weight:600}
a{color:var(--link)}
:focus-visible{outline:3px solid var(--focus);outline-offset:2px;border-radius:3px}
section:focus,.body:focus{outline:none}
small,.hint,.legend,footer,caption,.brand{color:var(--soft);font-size:.85rem}
code{font:.875em/1.5 ui-monospace,SFMono-Regular,Consolas,"Liberation Mono",Menlo,monospace}
.hidden,.skip:not(:focus),.patterns{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);
white-space:nowrap}
.brand{letter-spacing:.02em}
.verdict{font-size:1.15rem;font-weight:600;margin:.35rem 0 1rem}
.verdict.good{color:var(--good)}
.verdict.bad{color:var(--bad)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.75rem,1fr));gap:.75rem}
.tile{background:var(--card);border:1px solid var(--line);border-top:4px solid var(--new);border-radius:6px;
padding:.6rem .8rem .7rem}
.tile dt{color:var(--soft);font-size:.85rem}
.tile strong{display:block;font-size:1.5rem;line-height:1.25;font-variant-numeric:tabular-nums}
.tile span{color:var(--soft);font-size:.85rem}
.tile.bad{border-top-color:var(--lost)}
.tile.bad strong{color:var(--bad)}
.tile.warn{border-top-color:var(--missed)}
.tile.good{border-top-color:var(--kept)}
.hint{margin-top:.75rem}
.first{background:var(--card);border:1px solid var(--line);border-left:5px solid var(--lost);border-radius:6px;
padding:.6rem .9rem .7rem;margin-top:1rem}
.first h2{margin:0 0 .3rem;font-size:1.05rem}
.first ol{padding-left:1.3rem}
.first li+li{margin-top:.4rem}
.first p{font-size:.9rem}
nav{margin-top:1.1rem}
nav ul{display:flex;flex-wrap:wrap;gap:.35rem 1.25rem;list-style:none}
footer{margin-top:2.5rem;border-top:1px solid var(--line);padding-top:.75rem}
.badge{display:inline-block;border-radius:4px;padding:0 .45em;font-size:.85rem;font-weight:600;max-width:100%;
background:var(--note-soft);color:var(--text)}
.badge.failed,.badge.error,.badge.regression{background:var(--bad-soft);color:var(--bad)}
.badge.warning,.badge.suspect{background:var(--warn-soft);color:var(--warn)}
.badge.passed{background:var(--good-soft);color:var(--good)}
"""
_TABLES = """
table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{text-align:left;vertical-align:top;padding:.4rem .6rem;border-bottom:1px solid var(--line)}
thead th{color:var(--soft);font-size:.8rem;font-weight:600;vertical-align:bottom}
tbody th{font-weight:600}
caption{text-align:left;padding:.25rem 0}
.n{text-align:right;font-variant-numeric:tabular-nums}
.label{display:none}
.overview{table-layout:fixed;background:var(--card);border:1px solid var(--line);border-radius:6px}
.overview tbody tr:last-child>*{border-bottom:0}
.overview tbody th{font-weight:400}
.overview thead th:nth-child(1){width:7.75rem}
.overview thead th:nth-child(2){width:32%}
.overview thead th:nth-child(3){width:9rem}
.overview thead th:nth-child(4){width:7.25rem}
.overview tbody small{display:block}
.overview .kept .value{display:flex;align-items:center;gap:.5rem}
.overview .kept svg{flex:1 1 4rem;min-width:3rem;height:10px}
.overview .share{min-width:3.2em;text-align:right;font-variant-numeric:tabular-nums}
.overview .tokens-lost{text-align:right;font-variant-numeric:tabular-nums}
.overview thead th:nth-child(4){text-align:right}
.overview .result .badge{white-space:nowrap}
.overview .tokens-lost .value{white-space:nowrap}
.waterfall{margin:.5rem 0 1rem;table-layout:fixed}
.waterfall thead th:first-child{width:14.5rem}
.waterfall tbody th{font-weight:400}
.waterfall tbody small{margin-left:.25em}
.waterfall thead th:nth-child(n+3){width:7.5rem;text-align:right}
.waterfall th,.waterfall td{padding:.2rem .5rem;border-bottom:0}
.waterfall thead th{border-bottom:1px solid var(--line)}
.waterfall .wide{padding-right:4.5rem;position:relative}
.waterfall .wide span{position:absolute;right:.5rem;top:.2rem;font-variant-numeric:tabular-nums;color:var(--soft)}
.waterfall .lost{color:var(--bad);font-weight:600}
.waterfall .zero{color:var(--soft);font-weight:400}
.bar{display:block;width:100%;height:14px;background:var(--note-soft);border-radius:2px}
.waterfall .bar{margin-top:.28rem}
.swatch{vertical-align:-.1em}
.s-kept,.s-reused,.s-read{fill:var(--kept)}
.s-new,.s-uncached{fill:var(--new)}
.g-lost{fill:var(--lost-soft)}
.g-missed{fill:var(--missed-soft)}
.g-written{fill:var(--written-soft)}
.stripe{fill:none;stroke-width:2}
.l-lost{stroke:var(--lost)}
.l-missed{stroke:var(--missed)}
.l-written{stroke:var(--written)}
.plain{margin:.5rem 0 1rem}
"""
_CHECKS = """
.scenario{background:var(--card);border:1px solid var(--line);border-left:5px solid var(--new);border-radius:6px;
margin-bottom:.6rem}
.scenario.failed,.scenario.regression{border-left-color:var(--lost)}
.scenario.warning{border-left-color:var(--missed)}
.scenario.passed{border-left-color:var(--kept)}
summary{cursor:pointer}
.scenario>summary{display:flex;flex-wrap:wrap;gap:.25rem .75rem;align-items:baseline;padding:.55rem .9rem;
list-style:none}
.scenario>summary::-webkit-details-marker{display:none}
.scenario>summary h3{flex:1 1 18rem;font-size:.95rem}
.scenario>summary h3 small{font-weight:400}
.scenario>summary::after{content:"show";color:var(--link);font-size:.85rem}
.scenario[open]>summary::after{content:"hide"}
.kind{color:var(--soft);font-size:.85rem}
.body{padding:.1rem .9rem 1rem;scroll-margin-top:4rem}
.body>*+*{margin-top:.6rem}
.headline{font-size:.95rem}
.about{display:grid;gap:.15rem}
.about>div{display:grid;grid-template-columns:6rem minmax(0,1fr);gap:.5rem;font-size:.9rem}
.about dt{color:var(--soft)}
.about .fix dd{font-weight:600}
.fault{border-top:1px solid var(--line);padding-top:.6rem}
.fault h4{margin-bottom:.35rem}
.window{background:var(--code);border-radius:5px;padding:.5rem .7rem;margin:.35rem 0 .5rem}
.window>div{display:grid;grid-template-columns:4.2rem minmax(0,1fr);gap:.5rem;font-size:.9rem}
.pair>div{grid-template-columns:6rem minmax(0,1fr)}
.window dt{color:var(--soft)}
.window code{white-space:pre-wrap}
del,ins,mark{text-decoration:none;border-radius:2px;padding:.05em .1em;color:inherit}
del{background:var(--del);text-decoration:line-through;text-decoration-thickness:1px}
ins{background:var(--ins);text-decoration:underline;text-decoration-thickness:2px}
mark{background:var(--missed-soft);font-weight:700}
.end{font-style:italic}
.listed ul,.lines{padding-left:1.2rem;font-size:.9rem}
.cards{list-style:none}
.cards>li{background:var(--card);border:1px solid var(--line);border-radius:6px;padding:.5rem .8rem;margin-bottom:.5rem}
.cards p,.cards details{font-size:.9rem;margin-top:.2rem}
.cards ol{padding-left:1.6rem}
.lines{background:var(--card);border:1px solid var(--line);border-radius:6px;padding:.5rem .8rem;list-style:none}
.lines .inner{padding-left:1.2rem}
"""
# Tables become cards: a row's cells stand below each other, each with its column's name.
_SMALL = """
@media(max-width:46rem){
body{padding:.75rem .75rem 2rem}
.tiles{grid-template-columns:repeat(2,minmax(0,1fr))}
.label{display:inline;color:var(--soft);font-size:.8rem;font-weight:400}
.overview,.overview tbody,.waterfall,.waterfall tbody,.toggles,.toggles tbody{display:block;width:100%}
.overview caption,.waterfall caption,.toggles caption{display:block}
.overview thead,.toggles thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.overview tbody tr{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));padding:.5rem .6rem;
border-bottom:1px solid var(--line)}
.overview tbody tr:last-child{border-bottom:0}
.overview td,.overview tbody th{border:0;padding:.1rem .2rem;width:auto}
.overview .result,.overview tbody th,.overview .cause,.overview .place{grid-column:1/-1}
.overview .kept{width:auto}
.overview .tokens-lost{text-align:left}
.overview .empty{display:none}
.waterfall thead{display:block}
.waterfall thead tr{display:flex;flex-wrap:wrap;gap:.1rem .8rem}
.waterfall thead th{border:0;padding:0;width:auto!important}
.waterfall thead th:nth-child(-n+2){display:none}
.waterfall tbody tr{display:grid;grid-template-columns:repeat(3,minmax(0,1fr));padding:.3rem 0;
border-bottom:1px solid var(--line)}
.waterfall.sorts-4 tbody tr{grid-template-columns:repeat(2,minmax(0,1fr))}
.waterfall tbody th,.waterfall .wide{grid-column:1/-1;width:auto}
.waterfall th,.waterfall td{padding:.1rem 0}
.waterfall .wide{padding-right:4rem}
.waterfall .wide span{right:0;top:0}
.waterfall .n{text-align:left;font-size:.85rem}
.waterfall .n::before{color:var(--soft);font-weight:400;content:"kept "}
.waterfall .lost::before{content:"recomputed "}
.waterfall .new::before{content:"new "}
.waterfall .reused::before{content:"reused "}
.waterfall .missed::before{content:"stable, not reused "}
.waterfall .read::before{content:"read "}
.waterfall .written::before{content:"written "}
.waterfall .uncached::before{content:"uncached "}
.about>div,.pair>div{grid-template-columns:5rem minmax(0,1fr)}
.plain th,.plain td{padding:.3rem .3rem}
.toggles tbody tr{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));border-bottom:1px solid var(--line)}
.toggles tbody th{grid-column:1/-1}
.toggles th,.toggles td{border:0;padding:.1rem .2rem}
.toggles td::before{color:var(--soft);font-size:.8rem;content:"worst value "}
.toggles td:nth-child(3)::before{content:"expected "}
.toggles td:nth-child(4)::before{content:"observed "}
.toggles td:nth-child(5)::before{content:"kept "}
.toggles td:nth-child(6)::before{content:""}
}
@media print{html{background:#fff}.scenario{break-inside:avoid}nav,.skip{display:none}}
@media(prefers-reduced-motion:no-preference){html{scroll-behavior:smooth}}
"""
STYLE = "".join((_COLOURS, _FRAME, _TABLES, _CHECKS, _SMALL))
