"""CSF401 marker-on-changing-block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cachesafe_rules.api import Context, Example, Report, Rule
from cachesafe_rules.blocks import Block, blocks_of, system_contents
from cachesafe_rules.changing import changing_value
from cachesafe_rules.looked_up import looked_up
from cachesafe_rules.markers import marked_blocks, marked_lists, markers_of
from cachesafe_rules.model import Expr, Span
from cachesafe_rules.moment_names import live_in_excerpt
from cachesafe_rules.needles import MARKERS
from cachesafe_rules.shape import Request, Shape, shape_of
from cachesafe_rules.told_state import told_state
from cachesafe_rules.turns import is_single
from cachesafe_rules.volatile import volatile_in

__all__ = ["MarkerOnChangingBlock"]

_TEXT = ("text", "content", "description", "input_schema")
_HELP = "put the marker on the last block that stays the same, and what changes behind it"


class MarkerOnChangingBlock(Rule):
    """The block that carries the cache marker changes with every request.

    What is wrong
    -------------
    `cache_control` (or a `cachePoint` behind it) is on a block whose text holds a time, a random value, a counter,
    retrieved text, or a state that is read off what the function is given (`player.score`). Text that is looked up for
    one account or customer counts where the request is one question, no other block has a marker, and a block in front
    of it is the same for all. In a file of up to 40 rows that no other file imports a name for something of the moment
    (`session.recent_lines()`) counts as well, where a block in front holds nothing of the kind.
    Behind another marked block of the same list a parameter that is named like retrieved text does not count.

    Why
    ---
    An entry is written for the prefix that ends with the marked block, and only there. A block that differs each time
    gives a write on every request and never a read: with the write price of 1.25 times the input price this costs more
    than no cache ("Prompt caching", Claude Platform Docs, read 2026-11-29).

    What to do
    ----------
    Move the marker to the block in front, the last one that is equal in all requests. A marker on the newest user
    message is the documented pattern and fine, as long as that message is stored and sent again as it was.
    """

    code = "CSF401"
    name = "marker-on-changing-block"
    severity = "error"
    needles = MARKERS
    INVALID = (
        Example(
            "from datetime import datetime\n\n"
            "def build(history):\n"
            "    return {'model': 'm', 'system': [\n"
            "        {'type': 'text', 'text': 'Rules'},\n"
            "        {'type': 'text', 'text': f'It is {datetime.now()}', 'cache_control': {'type': 'ephemeral'}},\n"
            "    ], 'messages': history}\n",
            (6,),
        ),
        Example(
            "import time\n\n"
            "def message(text):\n"
            "    stamped = f'[{time.time()}] {text}'\n"
            "    return {'role': 'user', 'content': [\n"
            "        {'type': 'text', 'text': stamped, 'cache_control': {'type': 'ephemeral'}}]}\n",
            (6,),
        ),
        Example(
            "def build(client, history, retrieved_docs):\n"
            "    system = [{'type': 'text', 'text': 'Rules'},\n"
            "              {'type': 'text', 'text': f'{retrieved_docs}', 'cache_control': {'type': 'ephemeral'}}]\n"
            "    return client.messages.create(model='m', max_tokens=9, system=system, messages=history)\n",
            (3,),
        ),
        Example(
            "from datetime import datetime\n\n"
            "def ask(client, history):\n"
            "    return client.converse(modelId='m', messages=history, system=[\n"
            "        {'text': 'Rules'}, {'text': f'Now: {datetime.now()}'}, {'cachePoint': {'type': 'default'}}])\n",
            (5,),
        ),
        Example(
            "def system_for(account_id):\n"
            "    blocks = [{'type': 'text', 'text': RULES}]\n"
            "    account = load_account(account_id)\n"
            "    blocks.append({'type': 'text', 'text': f'Balance: {account.balance}'})\n"
            "    blocks[-1]['cache_control'] = {'type': 'ephemeral'}\n"
            "    return blocks\n\n"
            "def ask(client, account_id, question):\n"
            "    return client.messages.create(model='m', max_tokens=9, system=system_for(account_id),\n"
            "                                  messages=[{'role': 'user', 'content': question}])\n",
            (4,),
        ),
    )
    VALID = (
        Example(
            "from datetime import datetime\n\n"
            "def build(history):\n"
            "    return {'model': 'm', 'system': [\n"
            "        {'type': 'text', 'text': 'Rules', 'cache_control': {'type': 'ephemeral'}},\n"
            "        {'type': 'text', 'text': f'It is {datetime.now()}'},\n"
            "    ], 'messages': history}\n"
        ),
        Example(
            "def build(history, question):\n"
            "    newest = {'type': 'text', 'text': question, 'cache_control': {'type': 'ephemeral'}}\n"
            "    return {'model': 'm', 'messages': [*history, {'role': 'user', 'content': [newest]}]}\n"
        ),
        Example(
            "def blocks(rules, docs):\n"
            "    # The documents of a chat, behind rules that have a marker of their own.\n"
            "    return [\n"
            "        {'type': 'text', 'text': rules, 'cache_control': {'type': 'ephemeral', 'ttl': '1h'}},\n"
            "        {'type': 'text', 'text': docs, 'cache_control': {'type': 'ephemeral'}},\n"
            "    ]\n"
        ),
        Example(
            "def ask(client, account_id, history):\n"
            "    # The account is the same in all of its chat.\n"
            "    account = load_account(account_id)\n"
            "    system = [{'type': 'text', 'text': RULES}, {'type': 'text', 'text': f'Balance: {account.balance}',\n"
            "                                                'cache_control': {'type': 'ephemeral'}}]\n"
            "    return client.messages.create(model='m', max_tokens=9, system=system, messages=history)\n"
        ),
    )

    def check(self, context: Context) -> Iterator[Report]:
        shape = shape_of(context.view)
        users = _inside_user_messages(shape)
        second = _behind_another(shape)
        seen: set[Span] = set()
        for block, function, place in _marked(shape):
            text = next((block.entries[key] for key in _TEXT if key in block.entries), None)
            if text is None or block.span in seen:
                continue
            # The newest question belongs into a marked user message; a time or a random value does not.
            own = "role" in block.entries or id(block) in users
            why = volatile_in(shape, function, text)
            named = None
            changes = why.rstrip(",") if why else None if own else changing_value(shape, function, text)
            if id(block) in second and _is_given(shape, function, changes):
                continue
            if block.span == place and "cache_control" not in block.entries and not own:
                # In front of a cache point.
                named = live_in_excerpt(shape, function, text) if changes is None else None
            if (found := changes or named) is not None:
                seen.add(block.span)
                yield Report(
                    _told(found, named is None),
                    place,
                    confidence="high" if named is None else "medium",
                    help=_HELP,
                    data={"shown": named is None},
                )
        for marked, what, shown in _system_blocks(shape):
            if marked.span not in seen:
                seen.add(marked.span)
                yield Report(
                    _told(what, shown),
                    marked.span,
                    confidence="high" if shown else "medium",
                    help=_HELP,
                    data={"shown": shown},
                )


def _behind_another(shape: Shape) -> set[int]:
    """The marked blocks in front of which another one of their list is marked."""
    found: set[int] = set()
    lists = [expr for expr, _ in marked_lists(shape)]
    lists += [value for display in shape.view.dicts for value in display.expr.entries.values() if value.kind == "list"]
    for listed in lists:
        marked = [item for item in listed.items if marked_blocks(item)]
        found |= {id(item) for item in marked[1:]}
    return found


def _is_given(shape: Shape, function: str, name: str | None) -> bool:
    """Whether a parameter's name is all that says that a text changes: documents may be those of the whole chat."""
    known = shape.view.functions.get(function)
    return name is not None and known is not None and name in known.parameters


def _told(what: str, shown: bool) -> str:
    changes = "" if shown else ", which changes by its name"
    return f"the marked block holds {what}{changes}, so each request writes a cache entry that none reads"


def _system_blocks(shape: Shape) -> Iterator[tuple[Block, str, bool]]:
    """The marked blocks of system texts that change, what of them does, and whether more than its name says so."""
    for content in system_contents(shape, ("system",)):
        blocks = blocks_of(shape, content.function, content.expr, content.span)
        request = content.request
        for number, block in enumerate(blocks):
            if block.marker is None:
                continue
            found = next((what for one, where in block.texts if (what := changing_value(shape, where, one))), None)
            if found is None:
                found = next((what for one, where in block.texts if (what := told_state(shape, where, one))), None)
            # What is looked up for one person or thing is equal for as long as its chat lasts: without a chat, and with
            # no other marker, what all have in common in front of it is never read.
            alone = number and request is not None and is_single(shape, request)
            alone = alone and sum(one.marker is not None for one in blocks) == 1
            if found is None and request is not None and alone and not _marked_elsewhere(shape, request):
                found = next((what for one, where in block.texts if (what := looked_up(shape, where, one))), None)
            if any(one.marker is not None for one in blocks[:number]) and _is_given(shape, block.function, found):
                continue
            live = None
            if found is None and not any(one.marker for one in blocks[:number]):
                live = _live(shape, blocks[:number], block)
            if (what := found or live) is not None:
                yield block, what, live is None


def _live(shape: Shape, before: list[Block], block: Block) -> str | None:
    """What of the moment a block of an excerpt tells, where one in front of it tells nothing of that."""
    still = [one for one in before if not any(live_in_excerpt(shape, where, text) for text, where in one.texts)]
    found = (live_in_excerpt(shape, where, text) for text, where in block.texts)
    return next((what for what in found if what), None) if still else None


def _marked_elsewhere(shape: Shape, request: Request) -> bool:
    """Whether a request has a marker outside of its system text."""
    others = {name: value for name, value in request.fields.items() if name != "system"}
    if "system" not in request.fields:
        return len(markers_of(shape, request)) > 1
    return bool(markers_of(shape, replace(request, fields=others)))


def _marked(shape: Shape) -> Iterator[tuple[Expr, str, Span]]:
    for binding in shape.view.bindings:
        # `blocks[-1]["cache_control"] = …` for a list that is built just before.
        target = binding.target
        if target is not None and target.kind == "subscript" and target.items[1].value == "cache_control":
            last = target.items[0]
            if (
                last.kind == "subscript"
                and last.items[1].value == -1
                and not shape.mutations(binding.function, last.items[0])
            ):
                blocks = shape.resolve(binding.function, last.items[0])
                if blocks.kind == "list" and blocks.items:
                    yield shape.resolve(binding.function, blocks.items[-1]), binding.function, binding.span
    for display in shape.view.dicts:
        if marked_blocks(display.expr):
            yield display.expr, display.function, display.expr.span
        for value in display.expr.entries.values():
            yield from _before_points(shape, display.function, value)
    for call in shape.view.calls:
        for value in call.keywords.values():
            yield from _before_points(shape, call.function, value)


def _before_points(shape: Shape, function: str, value: Expr) -> Iterator[tuple[Expr, str, Span]]:
    """Blocks of a list that a Bedrock cache point follows."""
    value = shape.resolve(function, value)
    if value.kind == "list":
        for block, point in zip(value.items, value.items[1:], strict=False):
            if "cachePoint" in point.entries:
                yield shape.resolve(function, block), function, block.span


def _inside_user_messages(shape: Shape) -> set[int]:
    """Blocks below a message of any role, names followed one step."""
    found: set[int] = set()
    for display in shape.view.dicts:
        if "role" not in display.expr.entries or "content" not in display.expr.entries:
            continue
        content = shape.resolve(display.function, display.expr.entries["content"])
        for block in content.items if content.kind == "list" else ():
            found.add(id(shape.resolve(display.function, block)))
    return found
