"""The command line, thin: parse, call a subcommand, print.

Results go to standard output (or `--output-file`), everything else to standard error, so that JSON stays clean.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any, NoReturn, TextIO

from pytest_cachesafe.usage import UsageError

__all__ = ["main"]

_COMMANDS = {
    "compare": "do two requests share their prefix, and where do they part",
    "stable": "does every request of a chat continue the one before it",
    "scan": "values in a prompt that look volatile",
    "models": "tokenizers and models that can be used, and how to get one",
    "check": "what goes out to a provider, judged against its caching rules",
    "simulate": "what an engine's prefix cache would have reused of a log of requests",
    "collisions": "prompts that a semantic cache would merge although they need different answers",
    "lint": "volatile values that reach a cached prefix, found in source",
    "rule": "what a rule of the linter looks for, why, and what to do",
    "report": "a lock file as a table, what a change did to it, and saved runs in other formats",
}
# The result is no prompt, or has formats of its own.
_WITHOUT_REDACT = ("lint", "rule")
_OWN_FORMATS = ("lint", "report")
_DEFAULTS: dict[str, Any] = {
    "output_format": "text",
    "output_file": None,
    "strict": False,
    "redact": "none",
    "quiet": False,
    "verbose": 0,
}


class _Formatter(argparse.HelpFormatter):
    """Knows the width of the terminal without `shutil`, and with it three compression libraries: argparse makes a
    formatter for every option that is declared."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


def _columns() -> int:
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdigit() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ is not None else 1).columns or 80
    except (OSError, ValueError):
        return 80


class _Parser(argparse.ArgumentParser):
    """Raises instead of exiting, and names the closest option or choice for a misspelt one."""

    # The subcommand whose options this parser declares when it is first used: only that module is imported.
    module: str | None = None
    # It takes any number of paths, between its options as well.
    paths = False

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**keywords, formatter_class=_Formatter)

    def _print_message(self, message: str, file: Any = None) -> None:
        # Python 3.10 lets this out as a fault of ours; `main` finds out by itself that nothing can be written.
        with contextlib.suppress(OSError):
            super()._print_message(message, file)

    def declare(self) -> None:
        """Declare the subcommand's options, once."""
        if self.module is not None:
            import_module(self.module).add(self)
            self.module = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self.declare()
        words = list(args or ())
        if self.paths and "--" not in words:
            # argparse takes one run of paths and no more: `lint src --fix tests` has two.
            words = self._paths_last(words)
        return super().parse_known_args(words, namespace)

    def _paths_last(self, words: list[str]) -> list[str]:
        options: list[str] = []
        paths: list[str] = []
        for i, word in enumerate(words):
            option = word.startswith("-") and word != "-"
            value = i > 0 and words[i - 1].startswith("-") and self.takes_value(words[i - 1])
            (options if option or value else paths).append(word)
        return [*options, "--", *paths] if paths else options

    def takes_value(self, word: str) -> bool:
        """Whether a word is an option that eats the next word."""
        self.declare()
        return any(word in action.option_strings and action.nargs != 0 for action in self._actions)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")

    # Private in argparse, but the only place that knows the word and the choices; tests hold it in place.
    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = [str(c) for c in action.choices]
            what = action.dest if isinstance(action, argparse._SubParsersAction) else "value"
            raise argparse.ArgumentError(
                None if what == "command" else action, f"unknown {what} {value!r}{_closest(str(value), known)}"
            )

    def known(self, word: str) -> None:
        """Refuse an option that does not exist."""
        option = word.split("=")[0]
        spellings = [text for action in self._actions for text in action.option_strings]
        if option not in spellings:
            self.error(f"unknown option {option!r}{_closest(option, spellings)}")


def _closest(word: str, known: Iterable[str]) -> str:
    import difflib

    names = list(known)
    near = difflib.get_close_matches(word, names, 1)
    return f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(names)}"


def _common(command: str | None = None) -> _Parser:
    """The options that subcommands share."""
    # Without defaults: given before the subcommand, an option must not be reset by the subcommand's own default.
    common = _Parser(add_help=False, argument_default=argparse.SUPPRESS)
    if command not in _OWN_FORMATS:
        common.add_argument("--output-format", choices=("text", "json"), help="text (default) or json")
    common.add_argument("--output-file", metavar="FILE", help="write the result there instead of standard output")
    common.add_argument("--strict", action="store_true", help="notes count: exit 1 for them as well")
    if command not in _WITHOUT_REDACT:
        modes = ("none", "text", "hash")
        common.add_argument("--redact", choices=modes, help="show no prompt text: lengths, or checksums")
        common.add_argument("-q", "--quiet", action="store_true", help="text: the first line only")
        common.add_argument("-v", "--verbose", action="count", help="text: more (-vv shows all)")
    else:
        common.add_argument("-q", "--quiet", action="store_true", help="no summary")
    return common


def _parsers() -> tuple[_Parser, dict[str, _Parser]]:
    common = _common()
    main = _Parser(
        prog="cachesafe",
        description="Keep LLM prompts cache-safe: compare prompts as engines and providers get them.",
        epilog="Exit status: 0 fine or notes only, 1 errors or warnings, 2 could not do it.",
        parents=[common],
        allow_abbrev=False,
    )
    main.add_argument("--version", action="store_true", help="show the version and exit")
    subparsers = main.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    commands = {
        name: subparsers.add_parser(
            name,
            help=words,
            description=words,
            parents=[_common(name) if name in (*_WITHOUT_REDACT, *_OWN_FORMATS) else common],
            allow_abbrev=False,
        )
        for name, words in _COMMANDS.items()
    }
    commands["lint"].paths = True
    for name, command in commands.items():
        command.module = f"pytest_cachesafe.commands.{name}"
    return main, commands


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    main, commands = _parsers()
    argv = _command_first(argv, commands)
    if argv and argv[0] not in commands:
        for word in argv:
            # argparse would take the value of a misspelt option for the subcommand.
            if word.startswith("--"):
                main.known(word)
    args: argparse.Namespace
    args, unknown = main.parse_known_args(argv)
    if unknown:
        parser = commands.get(args.command, main)
        word = next((w for w in unknown if w.startswith("-")), unknown[0])
        if not word.startswith("-"):
            parser.error(f"unexpected argument {word!r}")
        parser.known(word)
        parser.error(f"unexpected option {word!r}")
    for name, value in _DEFAULTS.items():
        if not hasattr(args, name):
            setattr(args, name, value)
    if args.command is not None:
        _keep_apart(args, commands[args.command])
    return args


def _keep_apart(args: argparse.Namespace, parser: _Parser) -> None:
    """No result is written over what is read, or over another result."""
    if any(getattr(args, name, None) is not None for name in ("output_file", "export", "curve", "write_baseline")):
        from pytest_cachesafe.commands.common import keep_apart

        keep_apart(args, parser._actions)


def _command_first(argv: Sequence[str], commands: dict[str, _Parser]) -> list[str]:
    """The words with the subcommand in front, so that its options may stand before it as well."""
    for i, word in enumerate(argv):
        if (
            word in commands
            and not commands[word].takes_value(argv[i - 1] if i else "")
            and "--version" not in argv[:i]
        ):
            return [word, *argv[:i], *argv[i + 1 :]]
    return list(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0 fine or notes only, 1 errors or warnings, 2 could not do it.

    `argv` is without the program's name; None reads `sys.argv`.
    """
    try:
        return _run(sys.argv[1:], own_process=True) if argv is None else _run(argv)
    except UsageError as error:
        return _refuse(error)
    except SystemExit as stop:
        # argparse's --help, which goes to standard error where there is no other.
        try:
            if sys.stdout is not None:
                _print("")
        except UsageError as error:
            return _refuse(error)
        return stop.code if isinstance(stop.code, int) else 2
    except KeyboardInterrupt as stop:
        return int(getattr(stop, "status", 130))
    except MemoryError:
        # Little is left to say it with.
        _complain("cachesafe: out of memory: give it less at once, or more memory")
        return 2
    except Exception:
        # Ours to mend, so the traceback stays; 1 would read as a finding.
        import traceback

        _complain(f"{traceback.format_exc()}cachesafe: internal error, please report it with the lines above")
        return 2


def _without_collection() -> None:
    """No garbage collection in a process that ends with the command: not on the way, and not of everything at its end,
    which takes longer than a warm run over a large tree."""
    import atexit
    import gc

    gc.disable()
    atexit.register(gc.freeze)


def _refuse(error: UsageError) -> int:
    from pytest_cachesafe.report.visible import visible

    _complain(f"cachesafe: {visible(str(error))}")
    return 2


def _complain(text: str) -> None:
    """To standard error; where that cannot be written either, the exit status alone speaks."""
    from pytest_cachesafe.report.visible import printable

    if sys.stderr is None:
        return
    try:
        print(printable(text, sys.stderr), file=sys.stderr, flush=True)  # noqa: T201
    except OSError:
        _discard(sys.stderr)


def _run(argv: Sequence[str], *, own_process: bool = False) -> int:
    args = _parse(argv)
    if own_process and args.command == "lint":
        _without_collection()
    if args.version:
        from pytest_cachesafe import __version__

        _print(f"cachesafe {__version__}\n")
        return 0
    if args.command is None:
        raise UsageError(f"no subcommand given{_closest('', _COMMANDS)}")
    result = import_module(f"pytest_cachesafe.commands.{args.command}").run(args)
    for line in getattr(result, "before", ()):
        _complain(line)
    if result.data is None:
        text = result.text
    elif args.output_format == "json":
        from pytest_cachesafe.report.jsonout import to_json

        text = to_json(result.data)
    else:
        text = result.text if result.text.endswith("\n") else result.text + "\n"
        if args.quiet:
            text = text.split("\n", 1)[0] + "\n"
    if args.output_file and args.output_file != "-":
        from pytest_cachesafe.files import write_atomic

        write_atomic(args.output_file, text)
    else:
        _print(text)
    for line in getattr(result, "after", ()):
        _complain(line)
    status: int = result.status
    return status


def _print(text: str) -> None:
    """To standard output.

    Raises:
        UsageError: it is closed, or cannot take the text (a full disk).
    """
    from pytest_cachesafe.report.visible import printable

    if sys.stdout is None:
        raise UsageError("standard output is closed; write the result to a file with --output-file FILE")
    try:
        sys.stdout.write(printable(text, sys.stdout))
        sys.stdout.flush()
    except BrokenPipeError:
        # `cachesafe … | head`: the reader has enough.
        _discard(sys.stdout)
    except OSError as error:
        _discard(sys.stdout)
        raise UsageError(f"cannot write to standard output: {error.strerror or error}") from None


def _discard(stream: TextIO) -> None:
    """Let what is still in the buffer go nowhere: Python would complain once more when it closes the stream."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
