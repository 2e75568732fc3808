"""The plugin's options in one table: flag, ini twin, marker keyword, default, and which of them wins.

Precedence, stated here and nowhere else: marker (closest level first) > flag > ini > default.
Standard library only: `plugin` reads the table while pytest registers options.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

__all__ = ["OPTIONS", "Effective", "Option", "Settings", "closest", "effective", "given", "unknown_ini_keys"]

Origin = Literal["marker", "flag", "ini", "default"]
# What can fail an assertion; "date" makes day-level dates fail, which are notes otherwise.
VERDICTS = ("tail", "history", "raises", "not_rendered", "date")


class Option(NamedTuple):
    """One option. `parse` turns flag, ini and marker values into one type and raises ValueError in words."""

    name: str
    default: Any
    help: str
    parse: Callable[[Any], Any]
    flag: bool = True
    marker: bool = True
    # A flag without a value (store_true).
    switch: bool = False
    # pytest's type of the ini twin; a list keeps commas inside its items for `parse`.
    ini: Literal["string", "args", "int", "bool"] = "string"
    metavar: str = "VALUE"

    @property
    def dest(self) -> str:
        """Key in ini files, and pytest's name for the flag's value."""
        return f"cachesafe_{self.name}"

    @property
    def spelling(self) -> str:
        """The flag as typed."""
        return "--cachesafe-" + self.name.replace("_", "-")


class Effective(NamedTuple):
    """A value in force and who set it."""

    value: Any
    origin: Origin


Settings = Mapping[str, Effective]


def closest(word: str, known: Iterable[str], common: str = "") -> str:
    """', did you mean …?' for a near miss, else a list of what is allowed; to be appended to a message.

    `common` begins every known word and is left out when they are compared: it would make any two of them alike.
    """
    from difflib import get_close_matches

    names = list(known)
    allowed = f"allowed: {', '.join(names)}"
    near = get_close_matches(word.removeprefix(common), [name.removeprefix(common) for name in names], n=1, cutoff=0.6)
    return f"; did you mean {common + near[0]!r}? ({allowed})" if near else f"; {allowed}"


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value or None
    raise ValueError(f"must be a string, not {type(value).__name__}")


def _words(value: Any) -> tuple[str, ...]:
    words: list[str] = []
    for word in [value] if isinstance(value, str) else list(value):
        if not isinstance(word, str):
            raise ValueError(f"must hold strings, not {type(word).__name__}")
        words += word.replace(",", " ").split()
    return tuple(words)


def _verdicts(value: Any) -> tuple[str, ...]:
    words = _words(value)
    for word in words:
        if word not in VERDICTS:
            raise ValueError(f"unknown verdict {word!r}{closest(word, VERDICTS)}")
    return words


def _redact(value: Any) -> str:
    modes = ("none", "text", "hash")
    if value not in modes:
        raise ValueError(f"unknown mode {str(value)!r}{closest(str(value), modes)}")
    return str(value)


def _positive(value: Any) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = 0
    if number < 1 or isinstance(value, (bool, float)):
        raise ValueError(f"must be a whole number from 1 on, not {value!r}")
    return number


def _threshold(value: Any) -> str | float:
    """Read at once, so that a wrong one stops the run and not a test."""
    from pytest_cachesafe.semantic.threshold import parse_threshold
    from pytest_cachesafe.usage import UsageError

    try:
        return f"similarity:{parse_threshold(value)!r}"
    except UsageError as error:
        raise ValueError(str(error).removeprefix("threshold ")) from None


def _compare_fail(value: Any) -> str:
    """Kept as text, which the header shows; read at once, so that a wrong one stops the run and not a test."""
    from pytest_cachesafe.gate.expression import parse_expression
    from pytest_cachesafe.usage import UsageError

    try:
        parse_expression(str(value))
    except UsageError as error:
        raise ValueError(str(error)) from None
    return str(value)


def _prefix_change(value: Any) -> str:
    actions = ("warn", "fail", "ignore")
    if value not in actions:
        raise ValueError(f"unknown action {str(value)!r}{closest(str(value), actions)}")
    return str(value)


def _reports(value: Any) -> tuple[str, ...]:
    from pytest_cachesafe.gate.collect import parse_formats
    from pytest_cachesafe.usage import UsageError

    words = _words(value)
    try:
        parse_formats(words)
    except UsageError as error:
        raise ValueError(str(error)) from None
    return words


def _share(value: Any) -> float:
    return _number(value, "a share from 0 to 1, such as 0.8", 1.0)


def _money(value: Any) -> float:
    return _number(value, "an amount in USD, such as 0.05", float("inf"))


def _number(value: Any, meant: str, most: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if isinstance(value, bool) or not 0 <= number <= most or number == float("inf"):
        raise ValueError(f"must be {meant}, not {value!r}")
    return number


def _switch(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off", ""):
        return False
    raise ValueError(f"must be true or false, not {value!r}")


def _reruns(value: Any) -> tuple[str, ...]:
    words = _words(value)
    for word in words:
        name, _, seed = word.partition("=")
        if name != "hashseed":
            raise ValueError(f"unknown setting {word!r}{closest(name, ('hashseed',))}, e.g. 'hashseed=0'")
        if not seed.isascii() or not seed.isdigit() or int(seed) > 4294967295:
            raise ValueError(f"{word!r} needs a seed from 0 to 4294967295, e.g. 'hashseed=0'")
    return words


OPTIONS: tuple[Option, ...] = (
    Option(
        "model",
        None,
        "Model name, folder, .gguf or .jinja whose chat template renders prompts when a test names none.",
        _text,
        metavar="NAME",
    ),
    Option(
        "fail_on",
        ("history", "raises", "not_rendered"),
        f"Verdicts that fail a test, comma separated: {', '.join(VERDICTS)}.",
        _verdicts,
        ini="args",
        metavar="VERDICTS",
    ),
    Option("block_size", 16, "Tokens per cache block (default 16, vLLM's).", _positive, ini="int", metavar="TOKENS"),
    Option(
        "encoder",
        None,
        "What the semantic cache embeds with: name or folder of a sentence-transformers model (default MiniLM).",
        _text,
        metavar="NAME",
    ),
    Option(
        "threshold",
        None,
        "Cosine similarity at and above which the semantic cache merges two prompts (default 0.95).",
        _threshold,
        metavar="COSINE",
    ),
    Option(
        "cases",
        (),
        "JSON lines of labelled pairs; the test runs once for each, as its `case`.",
        lambda files: files,
        flag=False,
    ),
    Option(
        "redact",
        "none",
        "Prompt text in failure messages: none (all shown), text (left out), hash (length and checksum instead).",
        _redact,
        metavar="MODE",
    ),
    Option(
        "lock",
        None,
        "Lock file that every check is held against (default cachesafe.lock.jsonl, if there is one).",
        _text,
        marker=False,
        metavar="FILE",
    ),
    Option(
        "gate",
        False,
        "Ask for the lock file: without one, or without an entry in it, a check fails in a CI.",
        _switch,
        marker=False,
        switch=True,
        ini="bool",
    ),
    Option(
        "update",
        False,
        "Write the lock file anew from what this run finds.",
        _switch,
        marker=False,
        switch=True,
        ini="bool",
    ),
    Option(
        "update_new_only",
        False,
        "Add what the lock file has no entry for; leave its entries alone.",
        _switch,
        marker=False,
        switch=True,
        ini="bool",
    ),
    Option(
        "compare_fail",
        "lost:0,cached:0,reason",
        "What fails against the lock file: lost:BOUND, cached:, tokens:, cost: (100 or 5%%), reason, prefix.",
        _compare_fail,
        metavar="EXPR",
    ),
    Option(
        "prefix_change",
        "warn",
        "When tools or system text changed, so that a deploy makes caches cold: warn, fail or ignore.",
        _prefix_change,
        metavar="ACTION",
    ),
    Option(
        "informational",
        False,
        "Tell what got worse against the lock file and fail no test for it.",
        _switch,
        marker=False,
        switch=True,
        ini="bool",
    ),
    Option(
        "report",
        (),
        "Reports of the run: html, markdown, json, sarif, each with :PATH if wanted, and github; comma separated.",
        _reports,
        marker=False,
        ini="args",
        metavar="FORMATS",
    ),
    Option(
        "min_cached_share",
        None,
        "Budget: least share of its prompt tokens that a check must find cached, 0 to 1.",
        _share,
        metavar="SHARE",
    ),
    Option(
        "max_uncached_tokens",
        None,
        "Budget: most prompt tokens of a check that may be computed or billed in full.",
        _positive,
        metavar="TOKENS",
    ),
    Option(
        "max_cost",
        None,
        "Budget: most USD that the requests of one conversation may cost.",
        _money,
        metavar="USD",
    ),
    Option(
        "allow_download",
        False,
        "Let tokenizers and templates come from the model hub; otherwise nothing uses the network.",
        _switch,
        marker=False,
        switch=True,
        ini="bool",
    ),
    Option(
        "lint",
        False,
        "Lint the project's source too: each finding of `cachesafe lint` is an item that fails (notes are not).",
        _switch,
        marker=False,
        switch=True,
        ini="bool",
    ),
    Option(
        "live",
        False,
        "Send recorded requests for real, with your own keys, and tell predicted counters beside the provider's.",
        _switch,
        switch=True,
        ini="bool",
    ),
    Option(
        "observe",
        False,
        "Watch the LLM requests that the tests make and tell at the end which conversations lose their prefix.",
        _switch,
        marker=False,
        switch=True,
        ini="bool",
    ),
    Option(
        "observe_fail",
        False,
        "Observe, and fail the run if a conversation loses its prefix.",
        _switch,
        marker=False,
        switch=True,
        ini="bool",
    ),
    Option(
        "dummy_keys",
        False,
        "Set provider keys that mean nothing where the environment has none, before tests are imported.",
        _switch,
        marker=False,
        switch=True,
        ini="bool",
    ),
    Option("rerun", (), "Settings under which the test runs once more in a child process.", _reruns, flag=False),
    Option(
        "rerun_timeout",
        120,
        "Seconds that the child of a re-run may take (default 120).",
        _positive,
        ini="int",
        metavar="SECONDS",
    ),
)


def effective(config: Any, markers: Sequence[tuple[tuple[Any, ...], Mapping[str, Any]]] = ()) -> Settings:
    """The options in force.

    `config` is pytest's configuration, `markers` the arguments of the `cachesafe` markers, closest level first.

    Raises:
        UsageError: a marker keyword or a value that does not exist, with the closest one that does.
    """
    from pytest_cachesafe.prompt import UsageError

    allowed = [option.name for option in OPTIONS if option.marker]
    for args, keywords in markers:
        if args:
            raise UsageError(
                f"@pytest.mark.cachesafe takes keywords only, not {args[0]!r}; allowed: {', '.join(allowed)}"
            )
        for key in keywords:
            if key not in allowed:
                raise UsageError(f"@pytest.mark.cachesafe: unknown keyword {key!r}{closest(key, allowed)}")
    found: dict[str, Effective] = {}
    for option in OPTIONS:
        found[option.name] = Effective(option.default, "default")
        try:
            for where, origin, value in _sources(config, option, [keywords for _, keywords in markers]):
                if value is not None:
                    found[option.name] = Effective(_parsed(option, where, value), origin)
                    break
        except ValueError as error:
            raise UsageError(str(error)) from None
    return found


def _parsed(option: Option, where: str, value: Any) -> Any:
    try:
        return option.parse(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from None


def given(config: Any) -> list[str]:
    """Names of the options that a flag or an ini file sets."""
    found = []
    for option in OPTIONS:
        # An ini value that pytest cannot read counts as given: `effective` tells what is wrong with it.
        try:
            if any(value is not None for _, _, value in _sources(config, option, ())):
                found.append(option.name)
        except ValueError:
            found.append(option.name)
    return found


def _sources(config: Any, option: Option, levels: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Origin, Any]]:
    """Where a value may come from, best first, with None for "not set here"."""
    for keywords in levels if option.marker else ():
        yield f"@pytest.mark.cachesafe({option.name}=…)", "marker", keywords.get(option.name)
    if option.flag:
        yield option.spelling, "flag", config.getoption(option.dest, None)
        value = _ini(config, option)
        yield option.dest, "ini", _beside_ini(config, value) if option.name in ("model", "encoder") and value else value


def _beside_ini(config: Any, name: str) -> str:
    """A path in an ini file is meant from where the file is, not from where pytest was started."""
    path = (config.inipath.parent if config.inipath else config.rootpath) / name
    return str(path) if path.exists() else name


def _ini(config: Any, option: Option) -> Any:
    import pytest

    try:
        return config.getini(option.dest)
    except (TypeError, ValueError, pytest.UsageError) as error:
        # pytest says what is wrong with the value, not always which option it belongs to.
        raise ValueError(
            f"ini option {error}" if option.dest in str(error) else f"ini option {option.dest}: {error}"
        ) from None


def unknown_ini_keys(keys: Iterable[str]) -> list[str]:
    """Messages for ini keys that look like ours and are none."""
    known = [option.dest for option in OPTIONS if option.flag]
    wrong = [key for key in keys if key.startswith("cachesafe_") and key not in known]
    return [f"unknown ini option {key!r}{closest(key, known, 'cachesafe_')}" for key in sorted(wrong)]
