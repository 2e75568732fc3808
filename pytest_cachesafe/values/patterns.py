"""The patterns behind `find_values`, as one alternation that is tried at the starts of words only.

Every repetition is bounded and no two neighbouring repetitions share a character, so a failed attempt costs a
constant. Group names are `<kind>_<variant>`; `skip_` groups are read so that nothing inside them is misread.
"""

from __future__ import annotations

import re

__all__ = ["MASTER", "MODEL_NAME", "PLAIN", "TIME_OF_DAY"]

_YEAR = r"(?:19|20)\d\d"
_MONTH = r"(?:1[0-2]|0?[1-9])"
_DAY = r"(?:3[01]|[12]\d|0?[1-9])"
_MM = r"(?:1[0-2]|0[1-9])"
_DD = r"(?:3[01]|[12]\d|0[1-9])"
_HH = r"(?:[01]\d|2[0-3])"
_SIXTY = r"[0-5]\d"
_NAME = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_WEEKDAY = r"(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs?)?|Fri|Sat(?:ur)?|Sun)(?:day)?"
_FULL_WEEKDAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_NTH = r"(?:st|nd|rd|th)?"
# Not glued to a further letter or digit.
_END = r"(?![A-Za-z0-9])"

_CLOCK = rf"(?:[01]?\d|2[0-3]):{_SIXTY}(?::(?:{_SIXTY}|60)(?:[.,]\d{{1,9}})?)?"
_AMPM = r"(?:[ \u00a0\u202f]?[AaPp]\.?[Mm](?:\.(?=[\s,;)]|$))?)"
_ZONE = (
    r"(?: ?(?:Z|(?:UTC|GMT)(?:[+-]\d{1,2}(?::?\d\d)?)?|[ECMP][SD]T|CES?T|WES?T|EES?T|BST|IST|JST|KST|AE[SD]T|MSK"
    r"|[+-]\d\d(?::?\d\d)?))"
)
# A clock that a program prints (two digits an hour), with the next word right behind it: "07:49:06.488108Answer".
_PRINTED = rf"{_HH}:{_SIXTY}(?::{_SIXTY}(?:[.,]\d{{1,9}})?)?"
_SECONDS = rf"{_HH}:{_SIXTY}:{_SIXTY}(?:[.,]\d{{1,9}})?"
_GLUED = rf"(?:{_SECONDS}Z?(?=[A-Za-z])|{_HH}:{_SIXTY}(?=[A-Za-z]{{1,40}}(?![A-Za-z0-9:])))"
_TOD = (
    rf"(?:{_PRINTED}[+-]\d\d:?\d\d(?=[A-Za-z])"
    rf"|{_CLOCK}{_AMPM}?{_ZONE}?(?![A-Za-z0-9:]|\.\d)|{_GLUED})"
)
# Times in file names: 20-40-35, 20.40.35, 204035.
_FILE_TOD = (
    rf"{_HH}(?:-{_SIXTY}(?:-{_SIXTY})?|\.{_SIXTY}\.{_SIXTY}|{_SIXTY}(?:{_SIXTY})?)(?:[.,]\d{{1,9}})?Z?(?![A-Za-z0-9:-])"
)

_ISO = rf"{_YEAR}(?:-{_MONTH}-{_DAY}|/{_MONTH}/{_DAY}|\.{_MM}\.{_DD})"
_NUMERIC = rf"(?:{_DAY}\.{_MONTH}\.{_YEAR}|{_DAY}/{_DAY}/{_YEAR}|{_DAY}-{_MM}-{_YEAR})"
_DAY_FIRST = rf"{_DAY}{_NTH}(?: (?:of )?|-|/){_NAME}(?:,? ?|-|/){_YEAR}"
_MONTH_FIRST = rf"{_NAME} {{1,2}}{_DAY}{_NTH},? {{1,2}}{_YEAR}"
_BETWEEN = r"(?:T|[ ,_:]{1,2}|,? at )"

_HEX = "[0-9a-fA-F]"
_UUID = rf"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}{_END}"
_HASH = (
    r"(?:[0-9a-f]{128}|[0-9a-f]{96}|[0-9a-f]{64}|[0-9a-f]{56}|[0-9a-f]{40}|[0-9a-f]{32}"
    r"|[0-9A-F]{64}|[0-9A-F]{40}|[0-9A-F]{32})(?![A-Za-z0-9])"
)
_SHORT_HASH = r"(?<![#_/+.-])[0-9a-f]{7,12}(?![A-Za-z0-9_/+=-]|\.\d)"
_TOKEN = r"(?<![_/+.-])[A-Za-z0-9_-]{16,128}(?![A-Za-z0-9_/+=-])"
_PREFIXED = r"[A-Za-z]{2,16}[-_](?:[A-Za-z]{2,16}[-_]){0,2}[A-Za-z0-9]{6,64}(?![A-Za-z0-9_/+=-])"
_PORT = r"(?::\d{2,5})?"
_IPV4 = rf"\d{{1,3}}\.\d{{1,3}}\.\d{{1,3}}\.\d{{1,3}}(?!\.?\d|[A-Za-z]){_PORT}"
# With two colons apart it is a clock behind a word of hexadecimal letters ("a10:20:30").
_IPV6 = (
    r"(?=[0-9a-fA-F:]{2,39}(?![0-9a-fA-F:]))(?=[0-9a-fA-F]{1,4}:(?::|[0-9a-fA-F]{1,4}:(?::|[0-9a-fA-F]{1,4}:)))"
    r"(?:[0-9a-fA-F]{1,4}:){1,7}(?::|[0-9a-fA-F]{1,4})(?::?[0-9a-fA-F]{1,4}){0,6}(?![\w:])"
)
_IPV6_SHORT = r"(?<![\w:])::(?:[0-9a-fA-F]{1,4}:){0,6}[0-9a-fA-F]{1,4}(?![\w:])"
_MAC = r"[0-9a-fA-F]{2}(?:[:-][0-9a-fA-F]{2}){5}(?![\w:-])"
_NUMBER = r"(?:\d{1,3}(?:,\d{3}){1,8}|\d{1,40})(?:\.\d{1,30})?(?:[eE][+-]?\d{1,4})?(?![A-Za-z0-9_]|,\d{3})"
_UNIT = (
    r"(?:\d{1,3}(?:,\d{3}){1,8}|\d{1,20})(?:\.\d{1,20})? ?(?:%|°[CF]?|€|£|\$"
    r"|(?:[kmcµu]?m|km/h|mph|kg|mg|g|lbs?|oz|ml|cl|l|kWh|[kMG]?W|[kM]?Hz|GHz|[KMGT]i?B|kB|bytes?|px|ms|µs|us|ns|s|secs?"
    r"|seconds?|mins?|minutes?|h|hours?|days?|weeks?|months?|years?|tokens?|USD|EUR|GBP|CHF|JPY|percent)(?![A-Za-z0-9_]))"
)
_VERSION = r"\d{1,5}(?:\.\d{1,5}){2,4}(?:(?:[-+.]?(?:a|b|rc|dev|post|alpha|beta)\.?\d{0,4}))?(?![\d.]\d|[A-Za-z0-9])"
_COMPONENT = r"[\w.@+~%-]{1,255}"
_UNIX = rf"(?<![\w/.~\\<+}}-])~?(?:/{_COMPONENT}){{1,40}}/?"
_WINDOWS = (
    r"(?<![\w])(?:[A-Za-z]:\\{1,2}|\\{2,4}[\w.-]{1,63}\\{1,2})"
    r"(?:[\w .@+~%()$-]{1,255}\\{1,2}){0,40}[\w.@+~%()$-]{1,255}"
)
# "grid.py:26" is a line in a file.
_SOURCE = r"(?:pyi?|[jt]sx?|cc?|h|cpp|rs|go|java|kt|rb|md|rst|txt|json|ya?ml|toml|sh)"
_HOST = (
    rf"(?:localhost:\d{{2,5}}|(?:[A-Za-z0-9-]{{1,63}}\.){{1,8}}(?!{_SOURCE}:)[a-z]{{2,24}}:\d{{2,5}}"
    r"|ip-\d{1,3}(?:-\d{1,3}){3})(?![\w-])"
)
_LOCAL = r"(?:localhost|(?:[a-z0-9-]{1,63}\.){1,8}(?:local|internal|lan|localdomain|localhost)(?::\d{2,5})?)(?![\w-])"

# Variants by how they start: a digit, the name of a month or weekday, a word with a digit or colon in it, any word.
# Earlier ones win.
_DIGIT_FIRST = [
    ("uuid_d", _UUID),
    ("host_mac_d", _MAC),
    ("timestamp_iso", rf"{_ISO}{_BETWEEN}{_TOD}"),
    ("timestamp_file", rf"(?:{_ISO}|{_YEAR}{_MM}{_DD})[T_-]{_FILE_TOD}"),
    ("timestamp_compact", rf"20\d\d{_MM}{_DD}{_HH}{_SIXTY}{_SIXTY}(?:\d{{3}}|\d{{6}})?(?![\w.])"),
    ("timestamp_day", rf"{_DAY_FIRST}{_BETWEEN}{_TOD}"),
    ("timestamp_numeric", rf"{_NUMERIC}{_BETWEEN}{_TOD}"),
    ("timestamp_reversed", rf"{_TOD},? (?:on )?(?:{_ISO}|{_NUMERIC}|{_DAY_FIRST})(?!\d)"),
    ("date_iso", rf"{_ISO}(?![A-Za-z0-9/]|[.-]\d)|{_YEAR}-{_MM}-{_DD}(?=[A-Za-z]{{2}})"),
    ("date_week", rf"{_YEAR}-?W(?:[0-4]\d|5[0-3])(?:-?[1-7])?{_END}"),
    ("date_compact", rf"20\d\d{_MM}{_DD}(?![\w.]|,\d)"),
    ("date_day", rf"{_DAY_FIRST}{_END}"),
    ("date_no_year", rf"{_DAY}{_NTH} (?:of )?{_NAME}{_END}"),
    ("date_numeric", rf"{_NUMERIC}(?![A-Za-z0-9/]|[.-]\d)"),
    ("date_month", rf"{_YEAR}-{_MM}(?![A-Za-z0-9/-]|\.\d)"),
    ("time_clock", _TOD),
    ("time_hour", rf"(?:1[0-2]|0?[1-9]){_AMPM}{_END}"),
    ("host_ipv4", _IPV4),
    ("address_d", r"0x[0-9a-f]{6,16}(?![\w-])"),
    ("hash_d", _HASH),
    ("host_ipv6_d", _IPV6),
    ("skip_version", _VERSION),
    ("hash_short_d", _SHORT_HASH),
    ("id_token_d", _TOKEN),
    ("unit_d", _UNIT),
    ("number_d", _NUMBER),
]
# Clocks with a word right in front of them.
_BEHIND_LETTER = [
    ("timestamp_glued", rf"{_YEAR}-{_MM}-{_DD}{_BETWEEN}{_TOD}"),
    ("timestamp_glued_basic", rf"{_YEAR}{_MM}{_DD}T{_HH}{_SIXTY}{_SIXTY}(?!\d)"),
    # Without seconds "item10:20" is no clock.
    ("time_glued", rf"(?={_SECONDS}){_TOD}"),
    ("date_glued", rf"{_YEAR}-{_MM}-{_DD}(?![A-Za-z0-9/]|[.-]\d)|{_YEAR}-{_MM}-{_DD}(?=[A-Za-z]{{2}})"),
]
_NAME_FIRST = [
    ("timestamp_rfc", rf"{_WEEKDAY},? {_DAY_FIRST}{_BETWEEN}{_TOD}"),
    ("timestamp_ctime", rf"(?:{_WEEKDAY},? )?{_NAME} {{1,2}}{_DAY} {_CLOCK}(?: [A-Z]{{3,4}})? {_YEAR}(?!\d)"),
    ("timestamp_month", rf"(?:{_WEEKDAY},? )?{_MONTH_FIRST}{_BETWEEN}{_TOD}"),
    ("timestamp_syslog", rf"(?:{_WEEKDAY},? )?{_NAME} {{1,2}}{_DAY}(?:,? at)? {_TOD}"),
    ("timestamp_weekday", rf"{_WEEKDAY},? (?:{_ISO}|{_NUMERIC}){_BETWEEN}{_TOD}"),
    ("date_weekday", rf"{_WEEKDAY},? (?:the )?(?:{_DAY_FIRST}|{_MONTH_FIRST}|{_ISO}|{_NUMERIC}){_END}"),
    (
        "date_weekday_no_year",
        rf"{_WEEKDAY},? (?:the )?(?:{_DAY}{_NTH} (?:of )?{_NAME}|{_NAME} {{1,2}}{_DAY}{_NTH}){_END}",
    ),
    ("date_month_first", rf"{_MONTH_FIRST}{_END}"),
    ("date_month_year", rf"{_NAME},? {_YEAR}{_END}"),
    ("date_month_day", rf"{_NAME} {{1,2}}{_DAY}{_NTH}(?![A-Za-z0-9]|[.,:]\d)"),
    ("date_name", rf"{_FULL_WEEKDAY}{_END}"),
]
_LETTER_FIRST = [
    ("uuid_a", _UUID),
    ("hash_a", _HASH),
    ("host_mac_a", _MAC),
    ("host_ipv6_a", _IPV6),
    ("path_windows", _WINDOWS),
    ("host_name", _HOST),
    ("hash_short_a", _SHORT_HASH),
    ("id_prefixed", _PREFIXED),
    ("id_token_a", _TOKEN),
    ("skip_version_v", rf"[vV]{_VERSION}"),
]
_ANY_LETTER = [("host_local", _LOCAL)]
# These need a second look in code; where it says no, the text is read again without them.
_JUDGED = {"id_prefixed", "id_token_d", "id_token_a", "hash_short_d", "hash_short_a"}


def _build(judged: bool) -> re.Pattern[str]:
    def one_of(table: list[tuple[str, str]]) -> str:
        return "|".join(f"(?P<{name}>{body})" for name, body in table if judged or name not in _JUDGED)

    # `\n2026-…` inside a JSON string: the n belongs to the escape, not to a word.
    start = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
    # Cheap gates keep plain prose fast: most words hold no digit, colon or backslash and are no month or weekday.
    digits = rf"(?=\d)(?:{start}(?:{one_of(_DIGIT_FIRST)})|(?<=[A-Za-z])(?:{one_of(_BEHIND_LETTER)}))"
    names = rf"(?=Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)(?:{one_of(_NAME_FIRST)})"
    letters = rf"(?=[A-Za-z][A-Za-z_.-]{{0,62}}[\d:\\])(?:{one_of(_LETTER_FIRST)})"
    words = f"{digits}|{start}(?=[A-Za-z])(?:{names}|{letters}|{one_of(_ANY_LETTER)})"
    paths = f"(?P<path_unix>(?=[/~]){_UNIX})|(?P<path_unc>(?=\\\\\\\\){_WINDOWS})"
    return re.compile(f"{words}|{paths}|(?P<host_ipv6_c>{_IPV6_SHORT})")


MASTER = _build(judged=True)
PLAIN = _build(judged=False)
TIME_OF_DAY = re.compile(rf"({_CLOCK})|(?:{_ISO}|{_YEAR}{_MM}{_DD})[T_-]({_FILE_TOD})")
# A dated model snapshot ("gpt-4o-2024-08-06") is a name, not a clock.
MODEL_NAME = re.compile(
    r"(?:gpt|chatgpt|claude|gemini|gemma|llama|qwen|mistral|ministral|magistral|codestral|deepseek|grok|command|phi|o\d"
    r"|text-embedding|sonnet|opus|haiku|kimi|glm|nova|version)[\w.:-]{0,40}[-@: ]$",
    re.IGNORECASE,
)
