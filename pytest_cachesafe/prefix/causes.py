"""The cause classes of a divergence, with what to change. Names are part of the JSON output and of `Accept`."""

from __future__ import annotations

__all__ = ["ADVICE", "CAUSES", "SELF_CHANGING", "advice"]

# name -> one sentence for people.
CAUSES: dict[str, str] = {
    "timestamp": "a time of day changed",
    "date": "a date changed",
    "id": "an id, uuid or hash changed",
    "number": "a number changed",
    "path": "a file path changed",
    "host": "a host name or address changed",
    "order": "the same items come in another order",
    "whitespace": "only white space differs",
    "unicode_form": "the same text in another Unicode normal form",
    "reasoning_dropped": "reasoning of an earlier turn is no longer there",
    "tool_arguments_reserialised": "the same tool-call arguments, written out differently",
    "default_system_text": "the template fills in its own system text when none is given",
    "edited_history": "a message that had been sent was changed",
    "history_shifted": "messages were removed from or put into the history that had been sent",
    "system_changed": "the text changed",
    "tools_changed": "a definition changed",
    "model_changed": "the request goes to another model",
    "setting_changed": "a setting changed",
    "system_moved": "the system text stands at another message",
    "tools_moved": "the tools stand at another message",
    "generation_prompt": "the generation prompt is not what the replayed turn starts with",
    "template_markup": "the template frames an earlier message differently",
    "token_merge": "the text continues, but the tokenizer merges across the boundary",
    "text_changed": "the text differs",
    "retokenised": "the generated ids are not the ids of the replayed text",
}

ADVICE: dict[str, str] = {
    "timestamp": "put the time into the newest user message, pin it per session, or offer a tool that returns it",
    "date": "costs one rewrite a day; put it into the newest user message, or pin it per session",
    "id": "keep ids out of the prompt, or derive them from the conversation so that replays agree",
    "number": "keep counters and random numbers out of the prefix; put them into the newest user message",
    "path": "pass paths relative to a fixed root, or name them in the newest user message",
    "host": "keep host names out of the prompt",
    "order": "sort the items before they go into the prompt",
    "whitespace": "send the text exactly as it was sent before (no trimming, no re-indenting on replay)",
    "unicode_form": "normalise the text once, before it is first sent",
    "reasoning_dropped": "mostly template design: accept it with a bound, or keep the reasoning if it can be kept",
    "tool_arguments_reserialised": "keep the argument string that the model produced and replay it as it is",
    "default_system_text": "always send your own system message",
    "edited_history": "leave sent messages as they are, correct in the newest one; declare compaction as a reset",
    "history_shifted": "cut or summarise history rarely and in large steps, and declare it as a reset",
    "system_changed": "keep the system text constant and move what changes into the newest user message",
    "tools_changed": "send the same tools in every request; restrict them by tool_choice instead",
    "model_changed": "caches are per model: declare the switch as a reset",
    "setting_changed": "keep settings and template keywords constant within a conversation",
    "system_moved": "template design: put the system text into the first user message, or use a newer template",
    "tools_moved": "template design: use a newer template of this model, or accept the loss with a bound",
    "generation_prompt": "bounded loss: a few tokens a turn",
    "template_markup": "template design: accept it with a bound, or use a prefix-preserving template",
    "token_merge": "end the prompt on a special token, or accept the one-token loss",
    "text_changed": "keep the beginning of the prompt constant",
    "retokenised": "replay generated ids (token in, token out) instead of text",
}

# What to change where the request itself did what templates mostly do.
_OWN_DOING: dict[str, str] = {
    "system_moved": "keep the system message at the front of the list, in one role",
    "reasoning_dropped": "replay the reasoning as it was received, or accept the loss with a bound",
}


def advice(cause: str, origin: str) -> str:
    """What to change about a divergence of this cause and origin."""
    own = _OWN_DOING.get(cause) if origin in ("application", "framework") else None
    return own or ADVICE[cause]


# Values that change by themselves: their text is replaced and the prompt goes on behind them.
SELF_CHANGING = frozenset({"timestamp", "date", "id", "number", "path", "host"})
