"""A chat template as a front end: Chat -> Prompt, in our own sandbox, equal to what transformers renders."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from traceback import clear_frames
from typing import TYPE_CHECKING, Any, Literal

from pytest_cachesafe.frontends.adapt import Shapes, adapt, probe
from pytest_cachesafe.frontends.budget import Budget, BudgetExceededError, Meter
from pytest_cachesafe.frontends.data import CONTINUE_TAG, continue_fields, plain, template_messages, tool_schemas
from pytest_cachesafe.frontends.request import TemplateRequest
from pytest_cachesafe.prompt import Chat, Prompt, Segment, TemplateRaised, UsageError

if TYPE_CHECKING:
    from pytest_cachesafe.frontends.tokens import IncrementalEncoder
    from pytest_cachesafe.models import LoadedTokenizer

__all__ = ["ChatTemplate"]

# Names the front end itself passes to the template.
_OWN_NAMES = frozenset({"messages", "tools", "documents", "add_generation_prompt"})
# Special tokens templates print without asking whether they exist; without a tokenizer they are empty.
_SPECIAL_NAMES = ("bos_token", "eos_token", "pad_token", "unk_token")
_HARMONY_NOTE = "template, not what vLLM sends (it renders gpt-oss through Harmony)"


class ChatTemplate:
    """A chat template, with its tokenizer where one is known.

    One object serves a whole check: compiled code, the shapes the template needs and the tokenizer's work are reused
    between requests.
    """

    def __init__(
        self,
        sources: str | Mapping[str, str],
        *,
        label: str,
        special_tokens: Mapping[str, Any] | None = None,
        tokenizer: LoadedTokenizer | None = None,
        budget: Budget | None = None,
    ) -> None:
        self._sources = {"default": sources} if isinstance(sources, str) else dict(sources)
        self.budget = budget or Budget()
        self.tokenizer = tokenizer
        self.level: Literal["tokens", "text"] = "text" if tokenizer is None else "tokens"
        given = dict(special_tokens if special_tokens is not None else getattr(tokenizer, "special_tokens", {}))
        self.special_tokens: dict[str, Any] = given
        if tokenizer is None:
            self.special_tokens = {**dict.fromkeys(_SPECIAL_NAMES, ""), **given}
        digest = sha256("\0".join(self._sources.values()).encode("utf-8", "surrogatepass")).hexdigest()[:8]
        level = "sha256" if tokenizer is not None else "text level, sha256"
        self.name = f"chat template {label} ({level} {digest})"
        # What tells this front end from another one of the same name.
        self.identity = {"template": digest, "tokenizer": None if tokenizer is None else tokenizer.fingerprint[:8]}
        self._label = label
        self._templates: dict[str, Any] = {}
        self._shapes: dict[str, Shapes] = {}

    # -- ways in ------------------------------------------------------------------------------------------------------

    @classmethod
    def from_pretrained(cls, name_or_path: str | os.PathLike[str], *, budget: Budget | None = None) -> ChatTemplate:
        """The template and tokenizer of a model: hub name in the local cache, folder, `.gguf` or weight package.

        Raises:
            UsageError: the model is not found without network (says where it looked), or has no chat template.
        """
        from pytest_cachesafe.models import load_tokenizer

        return cls._from_loaded(load_tokenizer(name_or_path), budget)

    @classmethod
    def from_tokenizer(cls, tokenizer: Any, *, budget: Budget | None = None) -> ChatTemplate:
        """The template of a transformers tokenizer object.

        Raises:
            UsageError: it has no chat template.
        """
        from pytest_cachesafe.models import wrap_tokenizer

        return cls._from_loaded(wrap_tokenizer(tokenizer), budget)

    @classmethod
    def _from_loaded(cls, loaded: LoadedTokenizer, budget: Budget | None) -> ChatTemplate:
        if not loaded.chat_template:
            raise UsageError(
                f"{loaded.name}: the tokenizer has no chat template; give one: ChatTemplate.from_string(…, tokenizer=…)"
            )
        return cls(loaded.chat_template, label=f"of {loaded.name}", tokenizer=loaded, budget=budget)

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        special_tokens: Mapping[str, Any] | None = None,
        budget: Budget | None = None,
        *,
        tokenizer: LoadedTokenizer | None = None,
    ) -> ChatTemplate:
        """A `.jinja` file; at text level unless a tokenizer is given.

        Raises:
            UsageError: the file is missing, is not UTF-8, or is no Jinja template (names the line).
        """
        if not isinstance(path, (str, os.PathLike)):
            raise UsageError(f"ChatTemplate.from_file takes the path of a .jinja file, not {type(path).__name__}")
        file = Path(path)
        try:
            source = file.read_bytes().decode("utf-8")
        except FileNotFoundError:
            raise UsageError(f"{file}: no such template file") from None
        except OSError as e:
            raise UsageError(f"{file}: cannot be read: {e.strerror or e}") from None
        except UnicodeDecodeError as e:
            raise UsageError(f"{file}: not UTF-8 (byte {e.start}); save the template as UTF-8") from None
        return cls.from_string(
            source, name=str(file), special_tokens=special_tokens, budget=budget, tokenizer=tokenizer
        )

    @classmethod
    def from_string(
        cls,
        source: str,
        *,
        name: str = "template",
        special_tokens: Mapping[str, Any] | None = None,
        budget: Budget | None = None,
        tokenizer: LoadedTokenizer | None = None,
    ) -> ChatTemplate:
        """Template source; at text level unless a tokenizer is given.

        Raises:
            UsageError: the source is no Jinja template (names the line).
        """
        if not isinstance(source, str):
            raise UsageError(f"ChatTemplate.from_string takes Jinja source, not {type(source).__name__}")
        template = cls(source, label=name, special_tokens=special_tokens, tokenizer=tokenizer, budget=budget)
        template._compiled("default")
        return template

    # -- what the template is -----------------------------------------------------------------------------------------

    @cached_property
    def keywords(self) -> frozenset[str]:
        """Names the template reads and does not set itself: a keyword outside them changes nothing."""
        from pytest_cachesafe.frontends.environment import names_read

        names: set[str] = set()
        for key, source in self._sources.items():
            self._compiled(key)
            names |= names_read(source)
        return frozenset(names)

    @cached_property
    def reads_clock(self) -> bool:
        """Whether the template can print the date."""
        return "strftime_now" in self.keywords

    @property
    def encoder(self) -> IncrementalEncoder | None:
        """Exact ids of this template's texts; None at text level."""
        return self._encoder

    @cached_property
    def _encoder(self) -> IncrementalEncoder | None:
        if self.tokenizer is None:
            return None
        from pytest_cachesafe.frontends.tokens import IncrementalEncoder

        return IncrementalEncoder(self.tokenizer.backend)

    def _key(self, tools: Any) -> str:
        """Which of several templates serves the request: "tool_use" as soon as tools are given, even an empty list."""
        if tools is not None and "tool_use" in self._sources:
            return "tool_use"
        if "default" in self._sources:
            return "default"
        raise UsageError(
            f"{self._label}: several chat templates and none is the default ({', '.join(sorted(self._sources))}); "
            "give one with ChatTemplate.from_string"
        )

    def _compiled(self, key: str) -> Any:
        if key not in self._templates:
            import jinja2

            from pytest_cachesafe.frontends.environment import code_of, environment

            source = self._sources[key]
            env = environment()
            try:
                code = code_of(source, self._label)
            except jinja2.TemplateSyntaxError as e:
                raise UsageError(f"{self._label}, line {e.lineno}: broken Jinja: {_one_line(e.message)}") from None
            except BudgetExceededError as e:
                raise UsageError(f"{self._label}: more than {e.limit}") from None
            except (RecursionError, MemoryError, SyntaxError, UnicodeError) as e:
                words = _one_line(str(e)) or type(e).__name__
                raise UsageError(f"{self._label}: the template does not compile: {words}") from None
            self._templates[key] = env.template_class.from_code(env, code, env.make_globals(None))
        return self._templates[key]

    # -- rendering ----------------------------------------------------------------------------------------------------

    def render(
        self,
        messages: Any,
        tools: Iterable[Any] | None = None,
        add_generation_prompt: bool = True,
        template_kwargs: Mapping[str, Any] | None = None,
        *,
        documents: Sequence[Any] | None = None,
        continue_final_message: bool | str = False,
        now: datetime | None = None,
    ) -> Prompt:
        """Render one request: messages, or a whole wire body. Arguments given here win over what a body says.

        Raises:
            TemplateRaised: the template refuses the chat, in its own words.
            UsageError: the chat cannot be rendered for a reason the user must mend.
        """
        chat = _as_chat(messages)
        if tools is not None:
            chat.tools = list(tools)
        if template_kwargs is not None and not isinstance(template_kwargs, Mapping):
            raise UsageError(f"template_kwargs takes a mapping of keywords, got {type(template_kwargs).__name__}")
        chat.settings = {**chat.settings, **dict(template_kwargs or {})}
        if documents is not None:
            chat.settings["documents"] = list(documents)
        if continue_final_message:
            chat.continue_final_message = continue_final_message
            add_generation_prompt = False
        if not add_generation_prompt:
            chat.add_generation_prompt = False
        if now is not None:
            chat.now = now
        return self.prompt(chat)

    def prompt(self, chat: Chat) -> Prompt:
        """Render one request (the `FrontEnd` protocol).

        Raises:
            TemplateRaised: the template refuses the chat, in its own words.
            UsageError: the chat cannot be rendered for a reason the user must mend.
        """
        if chat.raw is not None:
            return self._raw(chat)
        if not chat.messages:
            raise UsageError("empty chat: a chat template needs at least one message")
        request = self._request(chat)
        if request.now is None and "strftime_now" in request.source:
            # One request, one time: its segments are rendered later.
            request.now = datetime.now()
        text = self._text(request)
        now = request.now
        notes = [*chat.notes, *request.notes]
        if "<|channel|>" in request.source and "<|start|>" in request.source and "reasoning_effort" in request.source:
            notes.append(_HARMONY_NOTE)
        encoder = self._encoder
        return Prompt(
            text,
            front_end=self.name,
            chat=chat,
            encode=None if encoder is None else encoder.encode,
            # Made anew when asked for: a prompt that kept its request would keep a copy of the chat per turn.
            segments=lambda: self._segments(chat, text, now),
            notes=notes,
        )

    def _raw(self, chat: Chat) -> Prompt:
        """A completion request: it skips the template."""
        encoder = self._encoder
        notes = (*chat.notes, "completion request: the template is not used")
        if isinstance(chat.raw, str):
            encode = None if encoder is None else encoder.encode
            return Prompt(chat.raw, front_end=self.name, chat=chat, encode=encode, notes=notes)
        ids = list(chat.raw or ())
        # Without a tokenizer the ids stand for themselves.
        text = "" if self.tokenizer is None else self.tokenizer.backend.decode(ids, skip_special_tokens=False)
        return Prompt(text, front_end=self.name, chat=chat, token_ids=ids, notes=notes)

    def _request(self, chat: Chat) -> TemplateRequest:
        settings = dict(chat.settings)
        documents = settings.pop("documents", None)
        own = _OWN_NAMES & settings.keys()
        if own:
            raise UsageError(f"template keyword {sorted(own)[0]!r} is set by the request itself; give it there")
        if chat.continue_final_message and chat.add_generation_prompt:
            raise UsageError(
                "continue_final_message and add_generation_prompt exclude each other: what continues has no new header"
            )
        if documents is not None:
            for index, document in enumerate(documents):
                if not isinstance(document, Mapping):
                    raise UsageError(f"documents[{index}]: a document must be a mapping with title and text")
        tools = tool_schemas(chat.tools)
        key = self._key(tools)
        messages = template_messages(chat.messages, chat.path_of)
        messages, notes = adapt(messages, self._shapes_of(key), chat.path_of)
        source = self._sources[key]
        continued = None
        if chat.continue_final_message:
            field = chat.continue_final_message if isinstance(chat.continue_final_message, str) else "content"
            messages, continued = continue_fields(messages, field, source)
        variables = {
            **self.special_tokens,
            **plain(settings),
            "messages": messages,
            "tools": tools,
            "documents": plain(documents),
            "add_generation_prompt": chat.add_generation_prompt,
        }
        return TemplateRequest(self._compiled(key), source, self._label, variables, notes, chat.now, continued)

    def _text(self, request: TemplateRequest) -> str:
        text = self._run(request.template, request.variables, request.now)
        return text if request.continued is None else _cut(text, request.continued)

    def _run(self, template: Any, variables: Mapping[str, Any], now: datetime | None) -> str:
        from pytest_cachesafe.frontends.environment import run

        clock = datetime.now if now is None else (lambda: now)
        try:
            return run(template, variables, Meter(self.budget), clock)
        except (BudgetExceededError, RecursionError, MemoryError) as e:
            judged = _judge(e, self._label, variables["messages"])
            # Its frames hold what the template piled up: neither they nor the exception may outlive this.
            clear_frames(e.__traceback__)
        except Exception as e:
            raise _judge(e, self._label, variables["messages"]) from e
        raise judged

    def _shapes_of(self, key: str) -> Shapes:
        if key not in self._shapes:
            template = self._compiled(key)

            def attempt(messages: list[dict[str, Any]], tools: list[Any] | None) -> str | None:
                variables = {**self.special_tokens, "messages": messages, "tools": tools, "documents": None}
                try:
                    return self._run(template, {**variables, "add_generation_prompt": True}, None)
                except TemplateRaised:
                    return None

            self._shapes[key] = probe(attempt)
        return self._shapes[key]

    def _segments(self, chat: Chat, text: str, now: datetime | None) -> Sequence[Segment]:
        from pytest_cachesafe.frontends.provenance import trace

        request = self._request(chat)
        request.now = now
        without = None
        if chat.add_generation_prompt:
            try:
                variables = {**request.variables, "add_generation_prompt": False}
                without = self._run(request.template, variables, request.now)
            except TemplateRaised:
                # A template may refuse to render without one; then it has none that could be told apart.
                pass
        return trace(request, text, chat, self.budget, without)

    def __repr__(self) -> str:
        return f"<ChatTemplate {self._label}, {self.level} level>"


def _cut(text: str, continued: str) -> str:
    """The prompt up to the end of the continued text; where the template trimmed it, without trailing space."""
    at = text.rfind(CONTINUE_TAG.strip())
    if at < 0 or continued.strip() not in text:
        raise TemplateRaised("continue_final_message: the template drops or changes the final message")
    return text[:at] if text.startswith(CONTINUE_TAG, at) else text[:at].rstrip()


def _judge(error: Exception, label: str, messages: Sequence[Any]) -> Exception:
    """What an exception out of a template means: the template's refusal, or something the user must mend."""
    import jinja2

    from pytest_cachesafe.frontends.environment import template_line

    line = template_line(error)
    where = label if line is None else f"{label}, line {line}"
    if isinstance(error, BudgetExceededError):
        return UsageError(
            f"{where}: the template needs more than {error.limit}; a larger one is set with budget=Budget(…)"
        )
    if isinstance(error, (RecursionError, MemoryError)):
        return UsageError(f"{where}: the template recurses without end, or needs more memory than there is")
    words = str(error.message if isinstance(error, jinja2.TemplateError) else error)
    if not isinstance(error, jinja2.TemplateError):
        words = f"{type(error).__name__}: {words}"
    item = error.__dict__.get("cachesafe_item")
    index = next((i for i, m in enumerate(messages) if m is item), None) if item is not None else None
    return TemplateRaised(words, index)


def _one_line(text: str | None) -> str:
    return re.sub(r"\s+", " ", text or "").strip()


def _as_chat(messages: Any) -> Chat:
    if isinstance(messages, Chat):
        from dataclasses import replace

        return replace(messages, settings=dict(messages.settings))
    to_chat: Callable[[Any], Chat] | None
    try:
        from pytest_cachesafe.messages import to_chat
    except ImportError:
        to_chat = None
    if to_chat is not None:
        return to_chat(messages)
    return Chat(messages=list(messages))
