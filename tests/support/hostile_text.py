"""Text that must do no harm in Markdown, beside what `lint_findings` holds for all formats."""

from __future__ import annotations

from hypothesis import strategies as st
from lint_findings import HOSTILE, any_text

__all__ = ["PAYLOADS", "any_payload"]

PAYLOADS = (
    *HOSTILE,
    "a|b",
    "a\\|b\\\\|c\\",
    "| a | b |\n|---|---|\n| c | d |",
    "`one` ``two`` ```three",
    "`",
    " ` ",
    "```\n::error::out\n```",
    "~~~\n# heading",
    "@octocat #1 GH-1 octo/repo#1 https://evil.example/x www.evil.example a@evil.example",
    "![x](https://evil.example/x.png) [y]: https://evil.example",
    "<img src=x onerror=alert(1)>",
    "</code></summary></details><h1>out</h1>",
    "</pre></td></tr></table><!-- -->",
    "\n\n# heading\n\n- item\n\n---\n",
    "&#64;octocat &lt;b&gt; &amp;",
    "$\\href{https://evil.example}{x}$ :smile: ==x== ~~y~~ **z**",
    "\t\t\t",
    "x" * 5_000,
    "::add-mask::x\n::set-output name=a::b",
)
any_payload = st.one_of(
    st.sampled_from(PAYLOADS),
    any_text,
    st.text(st.sampled_from("|\\`:#[]()<>@ \n\t~*_-!&;a1é"), max_size=30),
)
