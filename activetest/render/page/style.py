"""The style of a page: for light and dark screens of any width, and for paper.

Blue and orange are told apart by people who do not see red and green apart; every verdict has a
word and a sign of its own besides. Letters have a contrast of at least 4.5 to 1 in both schemes.
"""

import re

_COLORS = """
:root{color-scheme:light dark;
--page:#fff;--ink:#1b2026;--faint:#55606c;--line:#d5dae0;--soft:#f3f5f7;
--blue:#0b5cad;--reach:#7fb0de;--orange:#a8430b;--few:#7d8690;--band:#dfe4ea;
--pass:#00664f;--fail:#a3211a;--undecided:#6f5200}
"""
_DARK = """
:root{--page:#13171b;--ink:#e7eaee;--faint:#a6b0ba;--line:#363e47;--soft:#1c2127;
--blue:#76b7f5;--reach:#2f6ba6;--orange:#ffab70;--few:#8d97a1;--band:#2d353e;
--pass:#5fd3b0;--fail:#ff938a;--undecided:#e3c263}
"""
_BODY = """
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,-apple-system,
"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;font-variant-numeric:tabular-nums;
overflow-wrap:anywhere}
header,main,footer,nav{max-width:62rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:2.25rem}
h1{font-size:clamp(1.35rem,1rem + 1.6vw,2rem);line-height:1.25;font-weight:650;margin:.2rem 0 .6rem;
letter-spacing:-.01em;text-wrap:balance}
h2{font-size:1.25rem;line-height:1.3;margin:0 0 .6rem;font-weight:650}
h3{font-size:1rem;margin:1.4rem 0 .4rem;font-weight:650}
section{padding:1.6rem 0;border-top:1px solid var(--line)}
p{margin:.4rem 0 .8rem;max-width:46rem}
.kicker,small,figcaption,footer,.small{color:var(--faint);font-size:.875rem}
.kicker{margin:0}
.lead{font-size:1.0625rem}
a{color:var(--blue);text-underline-offset:.15em}
a:focus-visible,summary:focus-visible,.wide:focus-visible{outline:2px solid var(--blue);
outline-offset:2px}
nav ul{display:flex;flex-wrap:wrap;gap:.15rem 1.1rem;list-style:none;margin:.8rem 0 1rem;padding:0;
font-size:.875rem}
nav li{margin:0}
nav a{text-decoration:none}
nav a:hover{text-decoration:underline}
ul,ol{padding-left:1.3rem;margin:.4rem 0 .8rem;max-width:46rem}
li{margin:.25rem 0}
code,pre{font:.875em/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
code{background:var(--soft);padding:.05em .3em;border-radius:3px}
pre{background:var(--soft);padding:.7rem .9rem;border-radius:6px;overflow-x:auto;
white-space:pre-wrap;margin:.4rem 0 .8rem}
figure{margin:.8rem 0 1rem}
figcaption{max-width:46rem;margin-top:.4rem}
details{margin:.5rem 0}
summary{cursor:pointer;color:var(--blue);font-size:.875rem;padding:.2rem 0}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,17rem),1fr));gap:.5rem 2rem;
margin:.6rem 0 1rem}
dt{color:var(--faint);font-size:.875rem}
dd{margin:0}
.tiles{display:flex;flex-wrap:wrap;gap:.6rem 2.6rem;margin:.2rem 0 0}
.tiles p{margin:0;max-width:20rem;color:var(--faint);font-size:.9375rem;line-height:1.4}
.tiles b{display:block;font-size:1.75rem;line-height:1.2;color:var(--ink);font-weight:650}
svg{display:block;width:100%;overflow:visible;font-family:inherit;font-size:13px;fill:var(--ink)}
.vh{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
"""
_TABLES = """
.wide{overflow-x:auto;margin:.4rem 0 1rem}
table{border-collapse:collapse;font-size:.9375rem;margin:.4rem 0 1rem}
.wide table{margin:0}
caption{text-align:left;font-weight:650;padding:.2rem 0 .4rem}
th,td{text-align:left;vertical-align:top;padding:.3rem 1rem .3rem 0;font-weight:400;
overflow-wrap:normal}
th:last-child,td:last-child{padding-right:0}
thead th{color:var(--faint);font-size:.8125rem;vertical-align:bottom;
border-bottom:1px solid var(--line)}
tbody tr+tr>*{border-top:1px solid var(--line)}
tbody th{overflow-wrap:anywhere;min-width:5rem}
.n{text-align:right;white-space:nowrap}
.w{white-space:nowrap}
.badge{white-space:nowrap;font-weight:650;padding:.05em .55em;border:1.5px solid;border-radius:1em;
font-size:.875rem}
.pass{color:var(--pass)}.fail{color:var(--fail)}.undecided{color:var(--undecided)}
.iv{width:100%}
.iv td,.iv th{vertical-align:middle}
.iv tbody th{width:32%;line-height:1.3}
.iv small{display:block}
.iv .plot{min-width:5.5rem;width:38%;padding-top:0;padding-bottom:0}
.iv .v{white-space:nowrap;text-align:right;padding-left:.4rem}
.iv thead .v{white-space:normal}
.v b{font-weight:650}.v span{display:block;color:var(--faint);font-size:.875rem}
.v .why{white-space:normal;min-width:9rem}
.few th,.few b{color:var(--faint);font-weight:400}
.g line{stroke:var(--line)}
.plot svg text{font-size:12px;fill:var(--faint)}
.i{stroke:var(--reach);stroke-width:6;stroke-linecap:round}
.d{fill:var(--blue);stroke:var(--page);stroke-width:1}
.few .i{stroke:var(--band)}
.few .d{fill:var(--page);stroke:var(--few);stroke-width:2}
.ref{stroke:var(--faint);stroke-dasharray:3 3}
.gate{stroke:var(--orange);stroke-width:2;stroke-dasharray:5 3}
.gatename{fill:var(--orange)}
.raw{stroke:var(--faint)}.rawname,.tick{fill:var(--faint)}
.reach{fill:var(--reach);fill-opacity:1}
.dot{stroke:var(--blue)}
@media(min-width:46rem){.iv small{display:inline-block;white-space:nowrap;margin-left:.6em}
.iv .v span{display:inline-block;min-width:9.5em;text-align:left;margin-left:.6em}
.iv .v .why{max-width:16rem}}
@media(max-width:45.99rem){.mid{display:none}.iv tbody th{width:30%}
.iv th,.iv td{padding-right:.6rem}
.matrix td{min-width:2.5rem;padding:.3rem}
body{font-size:15px}header,main,footer,nav{padding-left:1rem;padding-right:1rem}}
"""
_PLOTS = """
.key{display:inline-flex;align-items:center;gap:.4em;margin-right:1.2em}
.key svg{width:26px;height:12px;flex:none}
.band{fill:var(--band)}
.bandline{stroke:var(--few);stroke-dasharray:2 3;fill:none}
.bar{fill:var(--blue)}.bar2{fill:var(--few)}
.axis{stroke:var(--few)}.grid{stroke:var(--line)}
.square{max-width:24rem}
.matrix td{text-align:right;padding:.3rem .55rem;border:1px solid var(--page)!important;
min-width:3.4rem}
.matrix{min-width:22rem}
.matrix thead th{text-align:right;padding-right:.55rem}
.matrix thead th:first-child{text-align:left}
.matrix small{display:block;color:inherit;font-size:.75rem;white-space:nowrap}
.items{list-style:none;padding:0}
.items li{border-top:1px solid var(--line);padding:.6rem 0;margin:0}
.items li:first-child{border:0}
.items blockquote{margin:.3rem 0 0;padding:.1rem 0 .1rem .8rem;border-left:3px solid var(--line);
white-space:pre-wrap}
footer{padding-bottom:2.5rem}
footer p{max-width:none;padding-top:1rem;border-top:1px solid var(--line)}
"""
_PAPER = """
@page{margin:16mm 14mm}
body{font-size:10.5pt}
header,main,footer{max-width:none;padding-left:0;padding-right:0}
header{padding-top:0}
nav,.download{display:none}
section{padding:.9rem 0}
tr,li,.tiles,svg,caption,.matrix{break-inside:avoid}
h2,h3,h2+p,caption,thead,summary{break-after:avoid}
figcaption{break-before:avoid}
.mid{display:none}
.wide,pre{overflow:visible}
details::details-content{content-visibility:visible;display:block;block-size:auto}
summary{list-style:none;color:var(--faint)}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}
"""
# Shades of cells, from few to many, in percent of a colour on the page's ground: right ones are
# blue, wrong ones orange. From the given one on, letters have the colour of the ground.
SHADES, TURNED = (8, 18, 30, 42, 88, 100), 4


def write() -> str:
    """The whole style sheet, without what nobody needs to read."""
    light_page = "@media print{" + _PAPER + "}"
    dark = "@media screen and (prefers-color-scheme:dark){" + _DARK + "}"
    sheet = _COLORS + dark + _BODY + _TABLES + _PLOTS + _write_shades() + light_page
    return re.sub(r"\s*\n\s*", "", sheet)


def shade(share: float, *, right: bool) -> str:
    """The class of a cell with this share of the largest one; empty for none."""
    if not share > 0:
        return ""
    return f"{'r' if right else 'w'}{min(int(share * len(SHADES)), len(SHADES) - 1)}"


def _write_shades() -> str:
    rules = []
    for kind, color in (("r", "blue"), ("w", "orange")):
        for place, part in enumerate(SHADES):
            ink = ";color:var(--page)" if place >= TURNED else ""
            rules.append(
                f".{kind}{place}{{background:color-mix(in srgb,var(--{color}) {part}%,"
                f"var(--page)){ink}}}"
            )
    return "".join(rules)
