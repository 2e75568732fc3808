"""CSF301 changing-before-stable."""

from __future__ import annotations

from collections.abc import Iterator

from cachesafe_rules.api import Context, Example, Report, Rule
from cachesafe_rules.assembled import assembled_lists
from cachesafe_rules.changing import changing_value
from cachesafe_rules.early_text import SYSTEM, Found, by_name, has_history, in_blocks, in_fields, in_lists, moves
from cachesafe_rules.excerpts import ends_before_request
from cachesafe_rules.expressions import is_history, spelt
from cachesafe_rules.model import Expr, Span
from cachesafe_rules.needles import CHAT
from cachesafe_rules.shape import Shape, shape_of

__all__ = ["ChangingBeforeStable"]
_HELP = "fixed text first, then the history; what the turn brings goes into the newest user message"


class ChangingBeforeStable(Rule):
    """Text that changes with every turn stands before text that stays.

    What is wrong
    -------------
    Retrieved documents, selected examples, the question or a counter come before fixed rules or before the history. A
    name such as `context` counts where it is not seen what it stands for, or where that is worked out from the question
    or the chat. In a list of blocks a state counts as well that is read off what the function is given
    (`ticket.status`) or by a call that is named for what is so now. A system text behind what somebody said is a note
    at the end and does not count.

    A file of up to 40 rows that no other file imports, and that ends before the request, is taken as it stands: there a
    name for something of the moment (`todo`, `metrics.snapshot()`, `Current page: …`) counts as well, and the report
    says that the name is all that speaks for it.

    In a project of more than ten files, a file that nothing runs or takes in, not even a test, is left out where other
    files use what it takes in: the project goes on without it.

    Why
    ---
    Prompt caches reuse the longest equal beginning. Everything behind the first difference is processed anew, however
    equal it is. Order alone decides: the same blocks with the fixed ones first are reused.

    What to do
    ----------
    Fixed instructions, then fixed examples, then the history, and retrieved text together with the question in the
    newest user message. Where the provider has markers, put one behind the last fixed block.
    """

    code = "CSF301"
    name = "changing-before-stable"
    severity = "warning"
    needles = CHAT
    INVALID = (
        Example(
            "def build(retrieved_docs, text):\n"
            "    system = f'Documents: {retrieved_docs}\\n\\n{RULES}'\n"
            "    return [{'role': 'system', 'content': system}, {'role': 'user', 'content': text}]\n",
            (2, 3),
        ),
        Example(
            f"RULES = '{'You are a careful assistant. ' * 8}'\n\n"
            "def ask(client, history, query):\n"
            "    docs = retriever.search(query)\n"
            "    return client.messages.create(model='m', max_tokens=9, messages=history, system=[\n"
            "        {'type': 'text', 'text': f'Documents: {docs}'},\n"
            "        {'type': 'text', 'text': RULES}])\n",
            (6,),
        ),
        Example(
            "def build(history, context_docs, question):\n"
            "    return [{'role': 'system', 'content': 'You help.'},\n"
            "            {'role': 'user', 'content': f'Context: {context_docs}'},\n"
            "            *history, {'role': 'user', 'content': question}]\n",
            (3,),
        ),
        Example(
            "def build(history, question):\n"
            "    examples = select_similar_examples(question)\n"
            "    return [{'role': 'system', 'content': 'You help.'}, *examples, *history,\n"
            "            {'role': 'user', 'content': question}]\n",
            (3,),
        ),
        Example(
            "def build(history, step):\n"
            "    return [{'role': 'system', 'content': f'You help. Step {step} of 10.'}, *history]\n",
            (2,),
        ),
    )
    VALID = (
        Example(
            "def build(retrieved_docs, text):\n"
            "    # A sentence behind the documents is not worth a cache entry.\n"
            "    system = f'Documents: {retrieved_docs}\\n\\nCite what you use.'\n"
            "    return [{'role': 'system', 'content': system}, {'role': 'user', 'content': text}]\n"
        ),
        Example(
            "async def build(config, context, messages):\n"
            "    system = await compose(config, context)\n"
            "    return [{'role': 'system', 'content': system + f' You are {context.assistant.name}.'}, *messages]\n"
        ),
        Example(
            "def build(history, docs, question):\n"
            "    return [{'role': 'system', 'content': 'You help.'}, *history,\n"
            "            {'role': 'user', 'content': f'Context: {docs}\\n\\n{question}'}]\n"
        ),
        Example(
            "PRODUCT = 'Example Cloud'\n\n"
            "def build(history, question):\n"
            "    return [{'role': 'system', 'content': f'You support {PRODUCT}. Answer in two sentences.'}, *history,\n"
            "            {'role': 'user', 'content': question}]\n"
        ),
        Example(
            "def build(language, question):\n"
            "    return [{'role': 'system', 'content': f'Answer in {language}. Be short and exact.'},\n"
            "            {'role': 'user', 'content': question}]\n"
        ),
        Example(
            "def ask(client, messages):\n"
            "    changing = f'It is {datetime.now()}'\n"
            "    return client.messages.create(model='m', max_tokens=9, messages=messages,\n"
            "                                  system=cached_blocks(RULES, changing))\n"
        ),
        Example(
            "def build(docs, question):\n"
            "    return [{'role': 'system', 'content': f'Answer from the documents.\\n\\n{docs}'},\n"
            "            {'role': 'user', 'content': question}]\n"
        ),
    )

    def check(self, context: Context) -> Iterator[Report]:
        shape = shape_of(context.view)
        seen: set[Span] = set()
        certain = [
            *in_lists(shape, changing_value),
            *in_fields(shape, changing_value),
            *in_blocks(shape, moves),
        ]
        named: list[Found] = []
        if ends_before_request(shape):
            named = [*in_lists(shape, by_name), *in_fields(shape, by_name), *in_blocks(shape, by_name)]
        for found in [*certain, *named]:
            if found.span not in seen:
                seen.add(found.span)
                told = "" if found in certain else "by its name, "
                yield Report(
                    f"{told}{found.what} changes with every turn and stands before {found.behind}",
                    found.span,
                    confidence="medium" if told else "high",
                    help=_HELP,
                    data={
                        **{w: getattr(found, w) for w in ("what", "function", "history", "lost")},
                        "requests": _requests(shape, found) if found.history else 0,
                        # By its name alone something changes only in a file that is complete as it stands.
                        "shown": found in certain,
                    },
                )


def _requests(shape: Shape, found: Found) -> int:
    """How many requests of a function send a history."""
    lists = sum(
        one.function == found.function and any(_names_history(item.expr, found.history) for item in one.items)
        for one in [*shape.view.lists, *assembled_lists(shape)]
    )
    fields = sum(
        one.function == found.function and has_history(shape, one) == found.history
        for one in shape.requests
        if any(field in one.fields for field in SYSTEM)
    )
    return max(lists, fields)


def _names_history(expr: Expr, name: str) -> bool:
    star = expr.items[0] if expr.kind == "star" else expr
    whole = star.items[0] if star.kind == "subscript" else star
    return is_history(whole) and spelt(whole) == name
