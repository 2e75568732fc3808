"""What must be seen before a report is made: that a value is another one in the next request, and what that costs.

Asked of what changes from user to user, of random values, of counters, of the state of a repository, of objects and of
recalled text: such values stand in many texts that are sent once, kept, or followed by nothing that was sent before.
Of a clock, which is another one for certain, only what stands behind it is asked. Each condition is one that the code
shows; what cannot be seen is not reported. The rules on tools, models and histories look at that themselves and say in
their reports' data whether it is `shown`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cachesafe_rules.patterns import lazy_pattern
from cachesafe_rules.policy import EACH_REQUEST, FETCHED, TOOL_WRITES
from pytest_cachesafe.lint.evidence.files import Files
from pytest_cachesafe.lint.evidence.prefix.chats import agent_of, chat_in, in_loop, is_fallback, tools_beside
from pytest_cachesafe.lint.evidence.prefix.counted import is_counted
from pytest_cachesafe.lint.evidence.prefix.fixed import fixed_behind, is_at, sources_of
from pytest_cachesafe.lint.evidence.prefix.followed import Followed
from pytest_cachesafe.lint.evidence.prefix.single_requests import CLOSING
from pytest_cachesafe.lint.evidence.requesters import Requesters
from pytest_cachesafe.lint.evidence.trees import Function, called, nodes_of, own_nodes, parents

if TYPE_CHECKING:
    from cachesafe_rules.api import Report

__all__ = ["Mechanism"]

_CODES = frozenset({"CSF101", "CSF104", "CSF105", "CSF107", "CSF108", "CSF109", "CSF110", "CSF111"})
_CLOCKS = frozenset({"CSF101"})
# Rules on structure, whose reports say themselves whether all of it is seen.
_STRUCTURE = frozenset({"CSF203", "CSF302", "CSF304", "CSF305", "CSF306", "CSF307", "CSF402"})
# A file of so few rows that nothing else takes in is complete as it stands: who calls what is in it is not to be seen.
_SHORT = 40
_HOPS = 2
_END = lazy_pattern(r"(?:also )?reaches |passed on here")
_STORED = lazy_pattern(r"assigned to self\.\w")
_RETURNED = lazy_pattern(r"returned by (\w+)?")
_ONCE = lazy_pattern(
    r"^(?:__init__|__post_init__|__a?enter__|_*(?:init|initiali[sz]e|setup|start|startup)(?:_\w+)?|"
    r"on_(?:\w+_)?(?:connect\w*|start|startup|ready|load|enter))$"
)
_PROGRAM = lazy_pattern(r"^_?a?(?:main|run_cli|cli|repl)$")
# A value becomes text here; an id that is only handed on, or the key of a map, is none.
# A message or a call takes the text, not only a name or a key that says system prompt.
_SENT = lazy_pattern(
    r"reaches (?:the )?(?:argument \w+ of |system (?:message|prompt|text)\b|SystemMessage|few-shot |"
    r"'(?:system|instructions)' of )"
)
_AS_TEXT = lazy_pattern(r"formatted into|put into (?!text by \.render)|joined into|fills \{|reaches the placeholder")
_EXAMPLES = lazy_pattern(r"reaches the few-shot messages")
_FIELD = lazy_pattern(r"(?:^|_)(?:id|ids|key|uuid|nonce)$|[a-z]I[dD]$")
_CHOOSES = lazy_pattern(r"(?:choices?|sample|shuffle|permutation)(?:\(\))?$")
# Objects that keep a text instead of sending it.
_KEPT = lazy_pattern(r"argument \w+ of (?:\w+\.)*\w*(?:Event|Record|Snapshot|Entry|Log)\b")
# What a framework puts behind the values of its switches, or sends again with them.
_BEHIND_SWITCH = lazy_pattern(
    r"tool|knowledge|histor|memor|skill|session|storage|^db$|^members$|^team$|^expected_output$|^additional_context$|"
    r"^handoffs$|^allow_delegation$"
)
_MEASURED = lazy_pattern(r"(?:^|/)(?:[\w-]*bench(?:mark)?s?|evals?|evaluations?|experiments?)/")
_TEXT_CALLS = frozenset({"str", "repr", "format", "id", "join", "ascii"})

# Where a text is put into what is sent: file, function and row.
_End = tuple[str, Function, int]


class Mechanism:
    """Asks of reports whether the code shows that and what they cost. `files` are the names of a project's files."""

    def __init__(self, files: Sequence[str], seen: Files) -> None:
        self._files = files
        self._seen = seen
        self._requesters = Requesters(files, seen)
        self._followed = Followed(files, seen)
        self._alone: dict[str, bool] = {}

    def shown(self, code: str, report: Report) -> bool:
        """Whether everything is seen that makes a report true; of other rules' reports nothing is asked."""
        name = report.span.filename
        if code in _STRUCTURE:
            return report.data.get("shown") is not False or self.is_alone(name)
        if code not in _CODES or not name.endswith(".py"):
            return True
        try:
            if code == "CSF108" and not self._is_printed(report):
                return False
            if self.is_alone(name) and all(step.filename == name for step in report.steps):
                return True
            return self._shown(code, report)
        except RecursionError:
            return False

    def _shown(self, code: str, report: Report) -> bool:
        if code == "CSF111":
            return self._is_switched(report)
        ends = self._ends(report)
        if code in _CLOCKS:
            files = {report.span.filename, *(step.filename for step in report.steps)}
            short = all(self._seen[file].rows <= _SHORT for file in files)
            return short or report.data.get("part") != "system" or self._is_followed(report, ends)
        if _KEPT.search(report.message) or self._is_fallback(report, ends):
            return False
        if code in ("CSF105", "CSF109") and _MEASURED.search(report.span.filename):
            # A benchmark asks each of its questions once, for one person that it made up.
            return False
        if code == "CSF105":
            shared = fixed_behind(report, self._seen) or any(tools_beside(*end[1:]) for end in ends)
            return shared and any(map(self._requesters.bring, sources_of(report)))
        if code in ("CSF104", "CSF109") and self._is_stored(code, report):
            return False
        if code == "CSF109" and not self._is_read_anew(report):
            return False
        if code == "CSF104" and not (_SENT.search(_told(report)) and self._is_drawn(report, ends)):
            return False
        if code == "CSF110" and not self._is_counted(report, ends):
            return False
        # A release is the same for all that it ever serves.
        if code == "CSF107" and all(source["granularity"] == "release" for source in sources_of(report)):
            return False
        if report.data.get("part") == "tools" or _EXAMPLES.search(report.message):
            # Of drawn examples the examples themselves are what is sent anew.
            return True
        return self._is_chat(report, ends) or fixed_behind(report, self._seen)

    # What stands behind

    def _ends(self, report: Report) -> list[_End]:
        """Functions, with the row in them, in which the text is put into what is sent."""
        rows = [(report.span.filename, report.span.row)]
        rows += [(step.filename, step.row) for step in report.steps if _END.match(step.message)]
        found = {}
        for name, row in rows:
            function = self._seen.around(name, row)
            if function is not None:
                found[id(function), row] = name, function, row
        return list(found.values())

    def _is_fallback(self, report: Report, ends: Sequence[_End]) -> bool:
        """Whether the text is sent nowhere but where a loop found no better place for it."""
        span = report.span
        own = span.filename, range(span.row, span.end_row + 1)
        sent = [end for end in ends if end[0] != own[0] or end[2] not in own[1]] or ends
        return bool(sent) and all(is_fallback(*end[1:]) for end in sent)

    def _is_chat(self, report: Report, ends: Sequence[_End]) -> bool:
        """Whether an agent is built with the text, or earlier messages stand behind it, here or in a caller."""
        if agent_of(report.message) or any(agent_of(step.message) for step in report.steps):
            return True
        if any(chat_in(function) for _, function, _ in ends):
            return True
        return any(self._has_callers_with_chat(name, function) for name, function, _ in ends)

    def _has_callers_with_chat(self, name: str, function: Function) -> bool:
        asked = [function]
        for _ in range(_HOPS):
            asked = [caller for one in asked for caller in self._seen[name].callers(one)]
            if any(map(chat_in, asked)):
                return True
        return False

    def _is_followed(self, report: Report, ends: Sequence[_End]) -> bool:
        """Whether anything is seen behind a clock that costs when it moves; a name behind it stands for fixed text."""
        fixed = fixed_behind(report, self._seen, CLOSING)
        return fixed or self._is_chat(report, ends) or self._followed.holds(ends)

    def _is_switched(self, report: Report) -> bool:
        """Whether the agent of a switch has tools, members, a memory or a history: without them what follows its time
        is one question."""
        for source in sources_of(report):
            switch = source["api"].partition("=")[0]
            for call in self._seen[source["filename"]].calls(source["row"]):
                given = {k.arg: k.value for k in call.keywords if k.arg}
                behind = (value for word, value in given.items() if word != switch and _BEHIND_SWITCH.search(word))
                if switch in given and any(not isinstance(v, ast.Constant) or v.value for v in behind):
                    return True
        return False

    # Whether it is another one

    def _is_stored(self, code: str, report: Report) -> bool:
        """Whether the value is made once: at import, with an object, or where a program starts."""
        sources = sources_of(report)
        if sources and all(source["frozen"] for source in sources):
            return True
        kept = [(step.filename, step.row) for step in report.steps if _STORED.match(step.message)]
        if any(self._is_once(code, *place) for place in kept):
            return True
        # `notes = load_notes()` where a program starts: the helper reads as often as it is called. Objects start anew.
        calls = [(step.filename, step.row) for step in report.steps if _RETURNED.match(step.message)]
        if code == "CSF109" and len(sources) == 1 and any(self._begins(*place) for place in calls):
            return True
        return bool(sources) and all(self._is_once(code, source["filename"], source["row"]) for source in sources)

    def _is_read_anew(self, report: Report) -> bool:
        """Whether each function whose result holds the text of a file is seen to read it, itself or by another one:
        what comes out of an attribute or a name of the module was read some time before."""
        sources = sources_of(report)
        if not sources or sources[0]["kind"] != "file":
            return True
        places = [(source["filename"], source["row"]) for source in sources]
        readers = {id(function): function for at in places if (function := self._seen.around(*at)) is not None}
        rows = [(step.filename, step.row, step.message) for step in report.steps if _RETURNED.match(step.message)]
        # The ways of several sources stand one after the other in the steps: each result leads on, in any order.
        while True:
            names = {function.name for function in readers.values()}
            more = [self._seen.around(name, row) for name, row, told in rows if _result(told) in names]
            new = {id(function): function for function in more if function is not None} if more else {}
            if new.keys() <= readers.keys():
                break
            readers |= new
        ends = {id(function) for _, function, _ in self._ends(report)}
        frozen = any(_result(told) not in names for _, _, told in rows)
        return not frozen and not ends.isdisjoint(readers)

    def _is_once(self, code: str, name: str, row: int) -> bool:
        function = self._seen.around(name, row)
        if function is None:
            return False
        return (code == "CSF109" and self._begins(name, row)) or _ONCE.match(function.name) is not None

    def _begins(self, name: str, row: int) -> bool:
        """Whether a row of a program's main function runs once."""
        function = self._seen.around(name, row)
        return function is not None and _PROGRAM.match(function.name) is not None and not in_loop(function, row)

    def _is_drawn(self, report: Report, ends: Sequence[_End]) -> bool:
        """Whether a random value becomes text, or chooses one, where the request is built or one call away."""
        names = {called(node) for _, function, _ in ends for node in nodes_of(function, ast.Call)}
        as_text = self._is_printed(report, _TEXT_CALLS - {"str"})
        for source in sources_of(report):
            function = self._seen[source["filename"]].around(source["row"])
            near = function is None or any(function is end for _, end, _ in ends) or function.name in names
            named = function is not None and _is_named(function, source)
            if near and not named and (as_text or _CHOOSES.search(source["api"])):
                return True
        return False

    def _is_counted(self, report: Report, ends: Sequence[_End]) -> bool:
        """Whether a counter is counted up around the place where its text is built; of pages and cursors nobody sees
        when they change."""
        if any(step.message.endswith(EACH_REQUEST) for step in report.steps) or any(
            TOOL_WRITES in source["api"] or (source["api"].startswith(FETCHED) and not source["frozen"])
            for source in sources_of(report)
        ):
            # Seen where it was read.
            return True
        names = {source["api"].partition(",")[0].rpartition(".")[2] for source in sources_of(report)}
        return any(is_counted(names, function, row, self._seen[name]) for name, function, row in ends)

    def _is_printed(self, report: Report, calls: frozenset[str] = _TEXT_CALLS) -> bool:
        """Whether a value itself is turned into text, not only handed to a template that may read its fields."""
        if any(_AS_TEXT.match(step.message) for step in report.steps):
            return True
        for source in sources_of(report):
            function = self._seen.around(source["filename"], source["row"])
            for node in nodes_of(function, ast.Call, ast.JoinedStr, ast.BinOp) if function is not None else ():
                text = not isinstance(node, ast.Call) or called(node) in calls
                if text and any(is_at(part, source) for part in ast.walk(node)):
                    return True
        return False

    # Files

    def is_alone(self, name: str) -> bool:
        """Whether a file is short and no other file of the project takes it in."""
        if name not in self._alone:
            stem = name.rpartition("/")[2][:-3].encode()
            imported = re.compile(rb"\b(?:from|import)\b[^\n]*\b" + re.escape(stem) + rb"\b")
            self._alone[name] = self._seen[name].rows <= _SHORT and not any(
                other != name and stem in (data := self._seen.read(other) or b"") and imported.search(data)
                for other in self._files
            )
        return self._alone[name]


def _is_named(function: Function, source: Mapping[str, Any]) -> bool:
    """Whether a value is an id or a key in a field of its own: what holds that field holds no text of it."""
    above = parents(function)
    node = next((node for node in own_nodes(function) if is_at(node, source)), None)
    while isinstance(node, ast.expr):
        upper = above.get(id(node))
        if isinstance(upper, ast.keyword):
            return _FIELD.search(upper.arg or "") is not None
        if isinstance(upper, ast.Dict):
            keys = (key for key, value in zip(upper.keys, upper.values, strict=True) if value is node)
            return any(isinstance(key, ast.Constant) and _FIELD.search(str(key.value)) for key in keys)
        node = upper
    return False


def _result(step: str) -> str:
    """The function whose result a step tells of."""
    found = _RETURNED.match(step)
    return (found[1] or "") if found is not None else ""


def _told(report: Report) -> str:
    return "\n".join((report.message, *(step.message for step in report.steps)))
