"""Windows of a graph's messages that never cut: in no run the list gets longer than the window.

The list begins anew with each run where the input takes the place of what a checkpoint holds, or where no checkpoint is
made. Then it has what the input gives and what the nodes add on the way, each of them once if no edges lead back.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from pytest_cachesafe.lint.evidence.running.modules import Module, Modules
from pytest_cachesafe.lint.evidence.sending.graphs import RUNS, Done, Unseen, bindings, followed, made, mentions
from pytest_cachesafe.lint.evidence.sending.state_lists import added, grows_in_place, is_replaced, listed, parameters
from pytest_cachesafe.lint.evidence.trees import Function, called, spelt

__all__ = ["ShortRuns"]

# Calls of functions with a state that are gone back.
_HOPS = 3
_ENDS = frozenset({"START", "END"})
# What else a graph is made with that says nothing of the fields of its state.
_ASIDE = frozenset({"state_schema", "config_schema", "context_schema", "output", "output_schema"})
# What sends a run elsewhere than along the edges.
_JUMPS = ("Command", "Send", "interrupt")
# The file that names the graphs which a server runs, with what its users send.
_SERVED = "langgraph.json"


class ShortRuns:
    """Asks of windows. `read` gives the bytes of a file."""

    def __init__(self, modules: Modules, read: Callable[[str], bytes | None]) -> None:
        self._modules = modules
        self._read = read

    def holds(self, cut: ast.AST, module: Module, function: Function | None) -> bool:
        """Whether `cut` is the end of a list in a graph's state that is seen never to be longer."""
        if function is None or not isinstance(cut, ast.Subscript):
            return False
        try:
            state, key = _cut_from(module, function, cut.value)
            most = _size(module, cut.slice)
            graphs = list(self._graphs(module, function, state, _HOPS))
            fits = bool(graphs) and all(self._longest(graph, steps, home, key) <= most for graph, steps, home in graphs)
        except Unseen:
            return False
        return fits and not self._modules.left_out

    def _graphs(
        self, module: Module, function: Function, state: str, hops: int
    ) -> Iterator[tuple[ast.Call, list[Done], Module]]:
        """The graphs whose state a parameter of a function is. Raises Unseen if it may be something else as well."""
        given = parameters(function)
        if state not in given or not hops or bindings(module, function, state):
            raise Unseen
        nodes: dict[int, Module] = {}
        named = list(mentions(self._modules, function.name, module))
        if not named:
            raise Unseen
        for node, other, inside in named:
            call = other.parents(inside).get(id(node))
            if isinstance(call, ast.keyword):
                call = other.parents(inside).get(id(call))
            if not isinstance(call, ast.Call):
                raise Unseen
            if call.func is node:
                passed = _passed(call, given.index(state), state)
                if inside is None or not isinstance(passed, ast.Name):
                    raise Unseen
                yield from self._graphs(other, inside, passed.id, hops - 1)
            elif called(call) == "add_node" and given[0] == state:
                nodes[id(call)] = other
            else:
                raise Unseen
        for home in {other.name: other for other in nodes.values()}.values():
            for graph, inside in made(home):
                try:
                    steps = followed(self._modules, graph, home, inside)
                except Unseen:
                    continue
                if any(nodes.pop(id(step.call), None) for step in steps):
                    yield graph, steps, home
        if nodes:
            raise Unseen

    def _longest(self, graph: ast.Call, steps: list[Done], home: Module, key: str) -> int:
        """How many messages a state may have at any time. Raises Unseen."""
        schemas = [*graph.args, *(word.value for word in graph.keywords if word.arg == "state_schema")]
        if len(schemas) != 1 or any(word.arg not in _ASIDE for word in graph.keywords) or self._is_served(home):
            raise Unseen
        state = spelt(schemas[0])
        replaced = is_replaced(self._modules, state, key, home)
        compiled = [step.call for step in steps if step.name == "compile"]
        kept = any(_is_kept(call) for call in compiled)
        runs = [step for step in steps if step.name in RUNS]
        if not runs or not compiled or (kept and not replaced) or _leads_back(steps):
            raise Unseen
        given = max(_given(step, state, key, kept) for step in runs)
        return given + self._added(steps, state, key, replaced)

    def _is_served(self, home: Module) -> bool:
        folders = home.name.split("/")[:-1]
        return any(self._read("/".join([*folders[:depth], _SERVED])) is not None for depth in range(len(folders) + 1))

    def _added(self, steps: list[Done], state: str, key: str, replaced: bool) -> int:
        """What the nodes of a graph add, each run once."""
        nodes = [_one(list(self._actions(step))) for step in steps if step.name == "add_node"]
        beside = {module.name: module for module, _ in nodes}
        for module, function in nodes:
            arg = (*function.args.posonlyargs, *function.args.args)[-len(parameters(function)) :][:1]
            if not arg or (arg[0].annotation is not None and spelt(arg[0].annotation) not in (state, "dict", "Any")):
                # Another schema may bring a reducer.
                raise Unseen
            for call in module.nodes(function):
                if isinstance(call, ast.Call) and any(_is_of(arg, parameters(function)[0], key) for arg in call.args):
                    beside |= {other.name: other for other, _ in self._modules.defining(called(call), module)}
        known = {id(function) for _, function in nodes}
        for module in beside.values():
            if any(next(module.mentions(word), None) for word in _JUMPS):
                raise Unseen
            for other in (None, *module.functions):
                if (other is None or id(other) not in known) and grows_in_place(module, other, key):
                    raise Unseen
        return sum(added(module, function, state, key, replaced) for module, function in nodes)

    def _actions(self, step: Done) -> Iterator[tuple[Module, Function]]:
        """The functions that a node may run."""
        words = [word.value for word in step.call.keywords if word.arg in ("action", "node")]
        action = [*step.call.args[:2], *words][-1:]
        if action and isinstance(action[0], ast.Name | ast.Attribute):
            yield from self._modules.defining(spelt(action[0]), step.module)


def _one(found: list[tuple[Module, Function]]) -> tuple[Module, Function]:
    if len(found) != 1:
        raise Unseen
    return found[0]


def _is_of(node: ast.AST, state: str, key: str) -> bool:
    return (isinstance(node, ast.Name) and node.id == state) or listed(node) == (state, key)


def _cut_from(module: Module, function: Function, node: ast.expr) -> tuple[str, str]:
    """The state and the field whose list is cut."""
    if isinstance(node, ast.Name):
        bound = bindings(module, function, node.id)
        if len(bound) != 1:
            raise Unseen
        node = bound[0]
    found = listed(node)
    if found is None:
        raise Unseen
    return found


def _size(module: Module, part: ast.expr) -> int:
    """How long a window is."""
    if isinstance(part, ast.Slice) and isinstance(part.lower, ast.UnaryOp) and part.upper is None:
        size = part.lower.operand
        if isinstance(size, ast.Name):
            bound = bindings(module, None, size.id)
            size = bound[0] if len(bound) == 1 else size
        if isinstance(size, ast.Constant) and isinstance(size.value, int):
            return size.value
    raise Unseen


def _passed(call: ast.Call, at: int, name: str) -> ast.expr | None:
    """What a call gives for a parameter."""
    if any(isinstance(arg, ast.Starred) for arg in call.args):
        return None
    words = [word.value for word in call.keywords if word.arg == name]
    return call.args[at] if at < len(call.args) else words[0] if words else None


def _is_kept(call: ast.Call) -> bool:
    """Whether a graph is compiled with something that keeps its state from run to run."""
    if call.args or any(word.arg is None for word in call.keywords):
        raise Unseen
    return any(
        word.arg == "checkpointer" and not (isinstance(word.value, ast.Constant) and not word.value.value)
        for word in call.keywords
    )


def _given(run: Done, state: str, key: str, kept: bool) -> int:
    """How many messages a run begins with."""
    words = [word.value for word in run.call.keywords if word.arg == "input"]
    first = [*run.call.args[:1], *words][:1]
    if not first:
        raise Unseen
    given = first[0]
    if isinstance(given, ast.Name):
        bound = bindings(run.module, run.function, given.id)
        if len(bound) != 1 or not _is_left_alone(run, given, key):
            raise Unseen
        given = bound[0]
    fields: list[tuple[object, ast.expr]]
    if isinstance(given, ast.Dict):
        fields = [
            (k.value if isinstance(k, ast.Constant) else None, v) for k, v in zip(given.keys, given.values, strict=True)
        ]
    elif isinstance(given, ast.Call) and called(given) in (state, "dict") and not given.args:
        fields = [(word.arg, word.value) for word in given.keywords]
    else:
        raise Unseen
    lists = [value for word, value in fields if word == key]
    if any(word is None for word, _ in fields) or (kept and not lists):
        raise Unseen
    for value in lists:
        if not isinstance(value, ast.List) or any(isinstance(part, ast.Starred) for part in value.elts):
            raise Unseen
    return max((len(value.elts) for value in lists if isinstance(value, ast.List)), default=0)


def _is_left_alone(run: Done, given: ast.Name, key: str) -> bool:
    """Whether of an input that has a name nothing but other fields are looked at or written."""
    above = run.module.parents(run.function)
    for inside, node in run.module.uses(run.function, given.id):
        parent = above.get(id(node))
        other = (
            isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Constant) and parent.slice.value != key
        )
        if inside is not run.function or not (node is given or other):
            return False
    return True


def _leads_back(steps: list[Done]) -> bool:
    """Whether a node may be run again in the same run. Raises Unseen where it is not told what an edge leads to."""
    onward: dict[str, set[str]] = {}
    for step in steps:
        args = step.call.args
        if step.name == "add_edge":
            words = {word.arg: word.value for word in step.call.keywords}
            ends = [*args, *(words[word] for word in ("start_key", "end_key") if word in words)]
            if len(ends) != 2:
                raise Unseen
            for name in ends[0].elts if isinstance(ends[0], ast.List) else ends[:1]:
                onward.setdefault(_name(name), set()).add(_name(ends[1]))
        elif step.name == "add_conditional_edges":
            paths = [*args[2:], *(word.value for word in step.call.keywords if word.arg == "path_map")][:1]
            if not args or not paths or not isinstance(paths[0], ast.Dict | ast.List):
                raise Unseen
            ends = paths[0].values if isinstance(paths[0], ast.Dict) else paths[0].elts
            onward.setdefault(_name(args[0]), set()).update(_name(end) for end in ends)
    left = set(onward)
    # Nodes that lead nowhere but out are taken away until none is left.
    while done := {name for name in left if onward[name].isdisjoint(left)}:
        left -= done
    return bool(left)


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name) and node.id in _ENDS:
        return f" {node.id}"
    raise Unseen
