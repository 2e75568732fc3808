"""Reports of the checks on a real model, for people. They hold numbers alone: no text of a prompt is needed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pytest_cachesafe.report.visible import visible

if TYPE_CHECKING:
    from pytest_cachesafe.kv.result import ChatReport, ChatTurn, Continuation, ReuseReport, Setting
    from pytest_cachesafe.kv.side_by_side import SideBySide
    from pytest_cachesafe.kv.stitch import StitchReport

__all__ = ["render_chat", "render_reuse", "render_side_by_side", "render_stitch"]

_MIB = 1 << 20
_BAR = 40


def render_reuse(report: ReuseReport) -> str:
    """The text of a reuse report; where something failed, the first line holds the first of it."""
    if report.failures:
        first = f"KV cache reuse does not hold: {visible(report.failures[0])} [{_setting(report.setting)}]"
        also = [f"  also: {visible(words)}" for words in report.failures[1:]]
        return "\n".join([first, *also, *_reuse_lines(report)])
    head = (
        f"KV cache reuse: {report.reused_tokens} of {report.prompt_tokens} prompt tokens reused"
        f" ({_percent(report.reused_tokens, report.prompt_tokens)}) [{_setting(report.setting)}]"
    )
    return "\n".join([head, *_reuse_lines(report)])


def _reuse_lines(report: ReuseReport) -> Iterator[str]:
    computed, whole = report.computed_tokens, report.prompt_tokens
    continuations = _count(len(report.continuations), "continuation")
    yield (
        f"  prefill: prefix of {_count(report.prefix_tokens, 'token')} once, {continuations}:"
        f" {_count(computed, 'token')} through the model, {whole} without reuse ({whole / computed:.1f}x)"
    )
    seconds = f"  seconds: {report.seconds:.3f}"
    handling = sum(c.handling_seconds for c in report.continuations)
    if handling >= 0.0005:
        seconds += f" ({handling:.3f} of them to {report.way} the cache)"
    if report.recompute_seconds is not None:
        seconds += f", {report.recompute_seconds:.3f} without reuse ({report.recompute_seconds / report.seconds:.1f}x)"
    yield f"{seconds}, {_count(report.setting.threads, 'thread')}, prefill alone: decoding costs the same either way"
    yield from _agreement(report)
    by_config = f"{report.bytes_per_token} bytes a token by the configuration; " if report.bytes_per_token else ""
    yield (
        f"  memory:  {by_config}measured {_mib(report.prefix_bytes)} for the prefix,"
        f" at most {_mib(report.peak_bytes)} at once"
    )
    if not report.prefix_intact:
        yield "  prefix:  the prefilled cache is no longer what it was"
    for words in report.notes:
        yield f"  note: {visible(words)}"


def _agreement(report: ReuseReport) -> Iterator[str]:
    verified = len(report.verified)
    if not verified:
        yield "  logits:  not compared (verify=0)"
        return
    if report.largest_difference == math.inf:
        yield "  logits:  no numbers (NaN or infinite): nothing can be said of the text"
        return
    of = f"{verified} of {len(report.continuations)} continuations" if verified < len(report.continuations) else "all"
    generated = sum(c.generated_tokens for c in report.verified)
    bound = report.setting.tolerance
    if report.bound is not None:
        allowed = f"bound {report.bound:g}, as given"
    elif bound is None:
        allowed = "no bound: a quantized cache is lossy"
    else:
        coarse = ", a coarse one: float32 proves more" if report.setting.dtype == "bfloat16" else ""
        allowed = f"bound {bound:g} for {report.setting.dtype}{coarse}"
    yield (
        f"  logits:  largest difference {report.largest_difference:.2g} ({allowed}), compared for {of};"
        f" greedy text {_same(report.same_text, report.verified)} over {_count(generated, 'token')}"
    )


def render_chat(report: ChatReport) -> str:
    """The text of a chat report, with a waterfall over its turns."""
    head = (
        f"KV cache kept over {_count(len(report.turns), 'turn')}: {report.computed_tokens} of {report.prompt_tokens}"
        f" prompt tokens computed [{_setting(report.setting)}]"
    )
    notes = [f"  note: {visible(words)}" for words in report.notes]
    return "\n".join([head, *_turns(report.turns), *_chat_agreement(report), *notes])


def _turns(turns: Sequence[ChatTurn]) -> Iterator[str]:
    longest = max(t.prompt_tokens for t in turns)
    yield "  turn  prompt  reused  computed  dropped  reply   cache  (= reused, # computed)"
    for number, turn in enumerate(turns):
        mark = "  begun anew" if turn.rebuilt else ""
        yield (
            f"  {number:4d}  {turn.prompt_tokens:6d}  {turn.reused_tokens:6d}  {turn.computed_tokens:8d}"
            f"  {turn.dropped_tokens:7d}  {turn.reply_tokens:5d}  {turn.cache_tokens:6d}"
            f"  {bar(turn.reused_tokens, turn.computed_tokens, longest)}{mark}"
        )


def _chat_agreement(report: ChatReport) -> Iterator[str]:
    seconds = sum(t.seconds for t in report.turns)
    if report.same_text is None or report.largest_difference is None:
        yield f"  prefill {seconds:.3f} s; not compared with a run without cache"
        return
    recompute = sum(t.recompute_seconds or 0.0 for t in report.turns)
    yield f"  prefill {seconds:.3f} s, {recompute:.3f} s without the kept cache; decoding costs the same either way"
    yield from _differ(report)


def _differ(report: ChatReport) -> Iterator[str]:
    # Where logits are no numbers, the notes name the turns.
    if report.same_text is None or report.largest_difference in (None, math.inf):
        return
    yield (
        f"  logits differ by at most {report.largest_difference:.2g} from a run without cache;"
        f" greedy text {_same(report.same_text, report.turns)}"
    )


def render_side_by_side(report: SideBySide) -> str:
    """The text of a comparison, with a waterfall over the turns: what is stable, reused, computed, and decoded."""
    chat, engine = report.chat, visible(report.engine)
    whole = chat.prompt_tokens
    lines = [
        f"{_count(len(report.turns), 'turn')}, {whole} prompt tokens [{engine}; {_setting(chat.setting)}]",
        f"  stable:  {report.stable_tokens} tokens ({_percent(report.stable_tokens, whole)}) as in the request before",
        f"  reused:  {report.engine_tokens} tokens ({_percent(report.engine_tokens, whole)}) by {engine}",
        f"  prefill: {report.prefill_seconds:.3f} s with reuse, {report.recompute_seconds:.3f} s without:"
        f" {report.prefill_saving:.1%} saved",
        f"  in all:  {report.end_to_end_saving:.1%} saved, decoding included ({report.decode_seconds:.3f} s, the same"
        " with and without reuse)",
        "  turn  prompt  stable  reused  prefill s  without  decode s  (= reused, # computed, . decoded)",
    ]
    longest = max(t.prompt_tokens + t.reply_tokens for t in report.turns)
    for number, turn in enumerate(report.turns):
        decoded = "." * max(1, round(_BAR * turn.reply_tokens / longest))
        lines.append(
            f"  {number:4d}  {turn.prompt_tokens:6d}  {turn.stable_tokens:6d}  {turn.reused_tokens:6d}"
            f"  {turn.seconds:9.3f}  {turn.recompute_seconds or 0.0:7.3f}  {turn.decode_seconds:8.3f}"
            f"  {bar(turn.reused_tokens, turn.computed_tokens, longest)}{decoded}"
        )
    lines += [*_differ(chat), *(f"  note: {visible(words)}" for words in chat.notes)]
    return "\n".join(lines)


def render_stitch(report: StitchReport) -> str:
    """The text of a stitch report: logit gap by share of tokens computed again."""
    context = sum(report.chunk_tokens)
    lines = [
        f"{len(report.chunk_tokens)} chunks prefilled apart ({context} tokens, question of {report.question_tokens})"
        f" [{_setting(report.setting)}]",
        f"  keys left where they were computed: logits {report.unmoved_difference:.2g} off full prefill",
        "  moved to their places, with a share of the tokens computed again:",
        "  chosen by   share  tokens  logits off  best token",
    ]
    for point in sorted(report.points, key=lambda p: (p.choose, p.share)):
        lines.append(
            f"  {point.choose:<9}  {point.share:6.0%}  {point.recomputed_tokens:6d}  {point.difference:10.2g}"
            f"  {'the same' if point.same_token else 'another'}"
        )
    return "\n".join(lines)


def bar(reused: int, computed: int, longest: int) -> str:
    """`=` for what was reused, `#` for what was computed; `longest` tokens are as wide as the bar may be."""
    width = max(1, round(_BAR * (reused + computed) / max(longest, 1)))
    # At least one sign for what there is.
    hashes = min(width, max(1 if computed else 0, round(width * computed / max(reused + computed, 1))))
    return "=" * (width - hashes) + "#" * hashes


def _setting(setting: Setting) -> str:
    return visible(str(setting))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _same(same: bool | None, compared: Sequence[Continuation | ChatTurn]) -> str:
    if same:
        return "the same"
    gap = max(one.text_gap or 0.0 for one in compared)
    return f"another (where it parts, the token chosen lies up to {gap:.2g} below the best one)"


def _percent(part: int, whole: int) -> str:
    share = part / whole if whole else 0.0
    # 100% is said of nothing less.
    return f"{share:.1%}" if part == whole else f"{min(share, 0.999):.1%}"


def _mib(size: int) -> str:
    return f"{size / _MIB:.2f} MiB"
