"""Units, currencies, calendar words and periods. Data only.

Units: name = (base unit, factor). Equal dimensions have one base unit, so that 60 minutes are one hour and 2 kg are
2000 g. Factors after the SI brochure (BIPM, 9th edition, 2019), IEC 80000-13 for bytes (here 1 GB = 1000 MB), the
international yard and pound agreement (1959).
"""

from __future__ import annotations

from pytest_cachesafe.semantic.tables.word_set import word_list

__all__ = [
    "CURRENCIES",
    "DAY_PARTS",
    "FORMATS",
    "LANGUAGES",
    "MONTHS",
    "NATIONAL",
    "NUMBERS",
    "ORDINALS",
    "PERIODS",
    "RELATIVE",
    "SCALES",
    "UNITS",
    "WEEKDAYS",
]

UNITS: dict[str, tuple[str, float]] = {}


def _units(base: str, text: str) -> None:
    for line in text.strip().splitlines():
        factor, _, names = line.strip().partition(" ")
        for name in names.split():
            UNITS[name] = (base, float(factor))


_units(
    "second",
    """
    0.001 ms msec millisecond milliseconds
    0.000001 us_ usec microsecond microseconds
    1 s sec secs second seconds
    60 min mins minute minutes
    3600 h hr hrs hour hours
    86400 day days
    604800 week weeks wk wks fortnight_half
    1209600 fortnight fortnights
""",
)
_units("month", "1 month months mo mos mth mths\n3 quarter quarters\n12 year years yr yrs\n120 decade decades")
_units(
    "byte",
    """
    1 byte bytes
    1000 kb kilobyte kilobytes
    1000000 mb megabyte megabytes meg megs
    1000000000 gb gig gigs gigabyte gigabytes
    1000000000000 tb terabyte terabytes
    1024 kib
    1048576 mib
    1073741824 gib
""",
)
_units("bit/s", "1000 kbps\n1000000 mbps\n1000000000 gbps")
_units(
    "gram",
    """
    0.000001 mcg microgram micrograms µg
    0.001 mg milligram milligrams
    1 g gram grams gramme grammes
    1000 kg kgs kilo kilos kilogram kilograms
    28.349523 oz ounce ounces
    453.59237 lb lbs pound_weight
    1000000 ton tons tonne tonnes
""",
)
_units(
    "metre",
    """
    0.001 mm millimetre millimetres millimeter millimeters
    0.01 cm centimetre centimetres centimeter centimeters
    1 m metre metres meter meters
    1000 km kms kilometre kilometres kilometer kilometers
    0.0254 inch inches
    0.3048 ft foot feet
    0.9144 yard yards yd
    1609.344 mile miles mi
""",
)
_units("litre", "0.001 ml millilitre millilitres milliliter milliliters\n0.01 cl\n1 l litre litres liter liters")
_units("gallon", "1 gallon gallons gal\n0.125 pint pints")
_units("celsius", "1 celsius °c centigrade")
_units("fahrenheit", "1 fahrenheit °f")
_units("degree", "1 degree degrees °")
_units("km/h", "1 kmh kph\n1.609344 mph")
_units("watt", "1 w watt watts\n1000 kw kilowatt kilowatts")
_units("joule", "3600000 kwh\n1 joule joules")
_units("kilocalorie", "1 kcal calorie calories cal")
_units("volt", "1 v volt volts")
_units("hertz", "1 hz\n1000 khz\n1000000 mhz\n1000000000 ghz")
_units("pixel", "1 px pixel pixels")
_units("token", "1 token tokens")

# Symbol or code = code.
CURRENCIES = {
    "$": "usd", "us$": "usd", "usd": "usd", "dollar": "usd", "dollars": "usd", "buck": "usd", "bucks": "usd",
    "£": "gbp", "gbp": "gbp", "quid": "gbp", "pound": "gbp", "pounds": "gbp", "€": "eur", "eur": "eur", "euro": "eur",
    "euros": "eur", "¥": "jpy", "yen": "jpy", "jpy": "jpy", "₹": "inr", "rupee": "inr", "rs": "inr", "rupees": "inr",
    "inr": "inr", "chf": "chf", "franc": "chf", "francs": "chf", "cad": "cad", "aud": "aud", "cents": "cent",
    "cent": "cent", "pence": "penny", "btc": "btc", "bitcoin_amount": "btc",
}  # fmt: skip

# Currencies of two words.
NATIONAL = {
    ("swiss", "franc"): "chf", ("swiss", "francs"): "chf", ("us", "dollar"): "usd", ("us", "dollars"): "usd",
    ("american", "dollars"): "usd", ("canadian", "dollar"): "cad", ("canadian", "dollars"): "cad",
    ("australian", "dollar"): "aud", ("australian", "dollars"): "aud", ("british", "pound"): "gbp",
    ("british", "pounds"): "gbp", ("japanese", "yen"): "jpy", ("indian", "rupee"): "inr", ("indian", "rupees"): "inr",
}  # fmt: skip

NUMBERS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fourty": 40,
    "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "dozen": 12,
}  # fmt: skip
SCALES = {"hundred": 100, "thousand": 1000, "k": 1000, "million": 1_000_000, "mn": 1_000_000, "billion": 1_000_000_000,
          "bn": 1_000_000_000, "trillion": 1_000_000_000_000}  # fmt: skip

# "second" is a unit as well: an ordinal only where no number stands before it.
ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "eleventh": 11, "twelfth": 12, "thirteenth": 13, "fourteenth": 14, "fifteenth": 15, "twentieth": 20,
    "thirtieth": 30,
}  # fmt: skip

_MONTH_NAMES = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
                "november", "december")  # fmt: skip
MONTHS = {name: at + 1 for at, name in enumerate(_MONTH_NAMES)}
MONTHS |= {name[:3]: at + 1 for at, name in enumerate(_MONTH_NAMES)} | {"sept": 9}
_DAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEKDAYS = {name: name for name in _DAY_NAMES} | {name + "s": name for name in _DAY_NAMES}
WEEKDAYS |= {"mon": "monday", "tue": "tuesday", "tues": "tuesday", "wed": "wednesday", "thu": "thursday",
             "thur": "thursday", "thurs": "thursday", "fri": "friday", "sat": "saturday", "sun": "sunday",
             "weekday": "weekday", "weekdays": "weekday", "weekend": "weekend", "weekends": "weekend"}  # fmt: skip

# Adverbs and adjectives of frequency = the unit they count.
PERIODS = {
    "hourly": "hour", "daily": "day", "nightly": "night", "weekly": "week", "biweekly": "2 weeks",
    "fortnightly": "2 weeks", "monthly": "month", "bimonthly": "2 months", "quarterly": "quarter", "yearly": "year",
    "annual": "year", "annually": "year", "biannual": "half year", "biannually": "half year", "biennial": "2 years",
}  # fmt: skip

RELATIVE = {"today": "today", "tonight": "tonight", "tomorrow": "tomorrow", "yesterday": "yesterday"}

# Parts of the day and whether a clock time next to them is of the second half of the day.
DAY_PARTS = {"morning": 0, "afternoon": 12, "evening": 12, "night": 12, "am": 0, "pm": 12}

LANGUAGES = {
    word: word
    for word in word_list(
        "english german french spanish italian portuguese dutch polish swedish danish norwegian finnish russian "
        "ukrainian turkish arabic hebrew hindi chinese mandarin cantonese japanese korean vietnamese thai indonesian "
        "greek czech hungarian romanian bulgarian latin welsh irish bengali urdu tamil swahili persian python java "
        "javascript typescript rust ruby perl php kotlin swift scala haskell csharp go_language elixir fortran cobol "
        "matlab julia lua bash powershell sql"
    )
} | {"c++": "cplusplus", "cpp": "cplusplus", "cplusplus": "cplusplus", "c#": "csharp", "f#": "fsharp"}
FORMATS = {
    word: word
    for word in word_list(
        "json csv xml yaml toml pdf html markdown docx xlsx pptx png jpeg gif svg mp3 mp4 wav parquet avro txt "
        "plaintext latex epub zip tsv rtf webp"
    )
} | {"jpg": "jpeg", "yml": "yaml", "md": "markdown", "doc": "docx", "xls": "xlsx", "excel": "xlsx", "tex": "latex"}
