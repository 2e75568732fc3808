"""Input that cannot be judged: one line that says what, where and what to do."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_cachesafe import Accept, ChatTemplate, Prompt, Recording, Toggle, UsageError, assert_prefix_stable, compare

CHAT = [
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Hi"},
    {"role": "user", "content": "Bye"},
]
TEXT = Prompt("abc", front_end="given")


@pytest.mark.parametrize(
    ("chat", "words"),
    [
        ("a lone string", "lone string"),
        (TEXT, "single Prompt"),
        ([], "empty"),
        ([1, 2, 3], "one list of token ids"),
        ([1, "a"], "mixed"),
        (["a", [1, 2]], "item 1 is a list of token ids, item 0 is a string"),
        ([[1, 2], "a"], "item 1 is a string"),
        ([TEXT, "a"], "item 1 is a string, item 0 is a Prompt"),
        ([[1, 2], [-1]], "not a token id"),
        (["only one"], "nothing was compared"),
        (CHAT[:1], "nothing was compared"),
        ([{"content": "x"}], "role"),
        ([{"role": "user", "content": 7}], "content"),
        (7, "cannot read a chat"),
        (object(), "cannot read a chat"),
        (Recording(), "recording is empty"),
        (["", ""], "renders to nothing"),
    ],
)
def test_chats(chat: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        assert_prefix_stable(chat)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"toggle": []}, "did you mean 'toggles'"),
        ({"temlate": "x"}, "did you mean 'template'"),
        ({"requests": "users"}, "'user\\+tool' and 'user'"),
        ({"fail_on": ["histroy"]}, "did you mean 'history'"),
        ({"fail_on": "history"}, "takes a list"),
        ({"block_size": 0}, "block_size"),
        ({"min_shared": 2}, "min_shared"),
        ({"under": ["clocks"]}, "did you mean 'clock'"),
        ({"under": "clock"}, "list"),
        ({"toggles": Toggle("x", [1, 2])}, "takes a list"),
        ({"accept": ["date"]}, "is no Accept"),
        ({"resets": "model"}, "resets"),
        ({"engine": "vlm", "template": len}, "did you mean 'vllm'"),
        ({"engine": "vllm"}, "has none: give template="),
        ({"template": "no/such-model"}, "no/such-model"),
        ({"template": "missing.jinja"}, "missing.jinja"),
    ],
)
def test_options(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        assert_prefix_stable(CHAT, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Accept(), "at least one"),
        (lambda: Accept(cause="reasoning_droped"), "did you mean 'reasoning_dropped'"),
        (lambda: Accept(part="sytem"), "did you mean 'system'"),
        (lambda: Accept(cause="date", max_lost_tokens=-1), "max_lost_tokens"),
        (lambda: Accept.parse("cause=date,bound=3"), "unknown key 'bound'"),
        (lambda: Accept.parse("date"), "key=value"),
        (lambda: Accept.parse("cause=date,max_lost_tokens=many"), "whole number"),
        (lambda: Toggle("x", [1]), "at least two"),
        (lambda: Recording().request(CHAT, tools="abc"), "list of definitions"),
        (
            lambda: Recording().request({"contents": [{"role": "user", "parts": [{"text": "a"}]}]}, tools=[{}]),
            "own form",
        ),
        (lambda: Recording().request(CHAT, settings="abc"), "mapping"),
        (lambda: ChatTemplate.from_string("x").render(CHAT, template_kwargs="x"), "mapping"),
        (lambda: compare(CHAT, CHAT, block_size="x"), "block_size"),
        (lambda: assert_prefix_stable(CHAT, max_resets="x"), "max_resets"),
        (lambda: Toggle("x", [1, 2], expect="split"), "did you mean 'splits'"),  # type: ignore[arg-type]
    ],
)
def test_parts(make: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        make()


def test_two_chats_in_one_list() -> None:
    def grown(word: str, n: int) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = []
        for i in range(n):
            out += [{"role": "user", "content": f"{word} {i}?"}, {"role": "assistant", "content": f"{word} {i}."}]
        return out[:-1]

    mixed = [grown("pears", 1), grown("nails", 1), grown("pears", 2), grown("nails", 2)]
    with pytest.raises(UsageError, match="two chats in one list"):
        assert_prefix_stable(mixed)
    keyed = [{"messages": m, "key": m[0]["content"][:5]} for m in mixed]
    report = assert_prefix_stable(keyed)
    assert report.conversations == 2
    recording = Recording()
    for messages in mixed:
        recording.request(messages)
    assert recording.assert_stable().conversations == 2


def test_resets_alone_are_told() -> None:
    bodies = [{"model": "a", "messages": CHAT[:1]}, {"model": "b", "messages": CHAT}]
    report = assert_prefix_stable(bodies, resets=["model"])
    assert any("every step is a declared reset" in note for note in report.notes)


def test_two_models_in_one_template(tmp_path: Any) -> None:
    file = tmp_path / "small.jinja"
    file.write_text("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}", "utf-8")
    bodies = [{"model": "a", "messages": CHAT[:1]}, {"model": "b", "messages": CHAT}]
    report = assert_prefix_stable(bodies, template=file)
    assert any("caches are per model" in note for note in report.notes)


def test_compare_needs_two_of_a_kind() -> None:
    ids = Prompt("abc", front_end="given", token_ids=[1, 2])
    with pytest.raises(UsageError, match="token ids"):
        compare(ids, TEXT)


def test_a_keyword_the_template_never_reads(tmp_path: Any) -> None:
    file = tmp_path / "small.jinja"
    file.write_text(
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% if brief %}!{% endif %}{% endfor %}", "utf-8"
    )
    with pytest.warns(UserWarning, match="'breif' is never read"):
        assert_prefix_stable(CHAT, template=file, template_kwargs={"breif": True})
    with pytest.warns(UserWarning, match="never reads 'enable_thinking'"):
        assert_prefix_stable(CHAT, template=file, toggles=[Toggle("enable_thinking", [True, False])])


def test_a_misspelt_key_of_the_project(tmp_path: Any) -> None:
    (tmp_path / "pyproject.toml").write_text('[[tool.cachesafe.acept]]\ncause = "date"\n', "utf-8")
    from pytest_cachesafe.prefix.accept import project_acceptances

    with pytest.raises(UsageError, match=r"pyproject.toml: .*no key 'acept'; did you mean 'accept'") as caught:
        project_acceptances(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_clock_that_cannot_move() -> None:
    with pytest.raises(UsageError, match="needs a builder"):
        assert_prefix_stable(CHAT, under=["clock"])
    timeless = ChatTemplate.from_string("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}")
    report = assert_prefix_stable(CHAT, template=timeless, under=["clock:day"])
    assert any("nothing moved" in note for note in report.notes)


def test_an_assertion_that_cannot_fail() -> None:
    with pytest.raises(UsageError, match="cannot fail"):
        assert_prefix_stable(CHAT, fail_on=[])
    assert assert_prefix_stable(CHAT, fail_on=[], min_shared=0.1)


def test_one_toggle_given_twice() -> None:
    with pytest.raises(UsageError, match="'x' is given twice"):
        assert_prefix_stable(CHAT, toggles=[Toggle("x", [1, 2]), Toggle("x", [1, 3])])
