"""A finished turn that is added to the end of a kept conversation is no request; each condition by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_project import places, write

from pytest_cachesafe.lint.run import lint

CHAT = """
class Chats:
    def __init__(self, agent, chat_store):
        self.agent = agent
        self.chat_store = chat_store
        self.chats = {{}}

    def keep(self, user, turn):
        {keep}

    def clear(self, user):
        {clear}

    def finish(self, user, context_docs, history):
        print(user)
        {finish}
"""
TURN = "[{'role': 'user', 'content': f'Context: {context_docs}'}, *history]"
KEPT = """if not turn:
            return
        for index, message in enumerate(turn):
            if index == 0 and message.get("role") == "user":
                self.agent.note(user)
        kept = self.chats.get(user)
        if kept is None:
            kept = []
            self.chats[user] = kept
        kept.extend(turn)
        self.chats[user] = self.chats[user][-50:]"""
FINISH = f"self.keep(user, {TURN})"


def codes(root: Path, keep: str = KEPT, finish: str = FINISH, clear: str = "self.chats.pop(user, None)") -> list[str]:
    write(root, {"chats.py": CHAT.format(keep=keep, finish=finish, clear=clear)})
    return [code for _, _, code in places(lint([root], cache=False).findings) if code == "CSF301"]


@pytest.mark.parametrize(
    "keep",
    [
        KEPT,
        "self.chats.setdefault(user, []).extend(turn)",
        "self.chats[user].extend(turn)",
        "self.chats[user] += turn",
        "self.chat_store.append_messages(user, turn)",
        "chat_store.append_messages(user, turn)",
        "rows = list(turn)\n        self.chat_store.append_messages(user, rows)",
    ],
)
def test_what_is_added_to_a_kept_list_is_no_request(tmp_path: Path, keep: str) -> None:
    assert codes(tmp_path, keep) == []


@pytest.mark.parametrize(
    "finish",
    [
        f"turn = {TURN}\n        self.keep(user, turn)",
        f"turn = {TURN}\n        self.keep(turn=turn, user=user)",
        f"turn = {TURN}\n        turn.append({{'role': 'user', 'content': 'Done.'}})\n        self.keep(user, turn)",
        f"self.chats[user].extend({TURN})",
    ],
)
def test_it_is_followed_by_its_name(tmp_path: Path, finish: str) -> None:
    assert codes(tmp_path, finish=finish) == []


@pytest.mark.parametrize(
    "keep",
    [
        # Nobody takes it, or somebody may send it.
        "print(user)",
        "self.agent.run(turn)",
        f"{KEPT}\n        self.agent.run(turn)",
        f"{KEPT}\n        self.agent.run([*turn])",
        f"{KEPT}\n        self.turn = turn",
        f"{KEPT}\n        self.later = lambda: turn",
        # Not the end.
        KEPT.replace("kept.extend(turn)", "self.chats[user] = turn + kept"),
        KEPT.replace("kept.extend(turn)", "kept.insert(0, turn)"),
        # Begun anew, for this request or by a name that may be so.
        "messages = []\n        messages.extend(turn)\n        self.agent.run(messages)",
        KEPT.replace("if kept is None:\n            ", "if user:\n            "),
        f"self.chats[user] = []\n        {KEPT}",
        f"self.clear(user)\n        {KEPT}",
        f"self.chats.pop(user)\n        {KEPT}",
        f"if user in self.chats:\n            self.chats.pop(user)\n        {KEPT}",
        "self.messages.extend(turn)",
        "self.chats['now'].extend(turn)",
        "self.chats.setdefault(self.request_id, []).extend(turn)",
        # No store, or what it is does not add.
        "self.chat_store.save_messages(user, turn)",
        "self.context_manager.append_messages(user, turn)",
        "store = Store()\n        store.append_messages(turn)\n        self.agent.run(store)",
    ],
)
def test_what_may_be_the_head_of_a_request_is_told(tmp_path: Path, keep: str) -> None:
    assert codes(tmp_path, keep) == ["CSF301"]


def test_what_comes_back_may_be_sent(tmp_path: Path) -> None:
    back = f"{KEPT}\n        return turn"
    assert codes(tmp_path, back) == []
    assert codes(tmp_path, back, f"self.agent.run({FINISH})") == ["CSF301"]
    assert codes(tmp_path, back, f"return {FINISH}") == ["CSF301"]


def test_another_function_may_begin_it_anew(tmp_path: Path) -> None:
    assert codes(tmp_path, finish=f"self.clear(user)\n        {FINISH}") == ["CSF301"]
    assert codes(tmp_path, finish=f"self.clear(user)\n        {FINISH}", clear="print(user)") == []
