"""Dates as pages write them: ISO 8601, mail headers, scripts' `toString`, and days in many languages.

Belongs here: text to `datetime`, with the zone if there is one and without if not. Does not belong here: which
of a page's dates is that of publication, or a guess at a zone. Only real days of 1990 to 2100 are dates.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

_ISO = re.compile(
    r"(?P<year>\d{4})(?P<dash>[-/.]?)(?P<month>\d{2})(?P=dash)(?P<day>\d{2})"
    r"(?:(?:\s*[T,]\s*|\s+)(?P<hour>\d{1,2}):?(?P<minute>\d{2})(?::?(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?"
    r"\s*(?P<zone>Z\b|UTC|GMT(?!\s*[+-])|(?:GMT|UTC)?\s*[+-]\d{1,2}:?(?:\d{2})?|\b[A-Z]{2,4}\b)?)?(?!\d)",
)
_EPOCH = re.compile(r"^\d{10}(?:\d{3})?$")
_CLOCK = re.compile(
    r"(?<!\d)(?P<hour>\d{1,2})[:.h](?P<minute>\d{2})(?::(?P<second>\d{2}))?(?!\.?\d)\s*(?P<half>[ap]\.?m\b\.?)?"
    r"(?:\s*(?P<zone>(?:GMT|UTC)?\s*[+-]\d{2}:?\d{2}|GMT|UTC|Z|[A-Z]{3,4})\b)?",
    re.IGNORECASE,
)
_DAY_MONTH_NAME = re.compile(
    r"(?<!\d)(?P<day>\d{1,2})(?:\.|st|nd|rd|th|er|º)?\s*(?:de\s+|of\s+|-)?(?P<name>[^\W\d_]{3,12})\.?,?\s*(?:de\s+|del\s+|-)?"
    r"(?P<year>(?:19|20)\d{2})(?!\d)"
)
_MONTH_NAME_DAY = re.compile(
    r"(?P<name>[^\W\d_]{3,12})\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?,?\s+(?P<year>(?:19|20)\d{2})(?!\d)"
)
_EAST_ASIAN = re.compile(
    r"(?P<year>(?:19|20)\d{2})\s*[年년]\s*(?P<month>\d{1,2})\s*[月월]\s*(?P<day>\d{1,2})\s*[日일]"
)
_DAY_FIRST = re.compile(
    r"(?<![\d.])(?P<day>\d{1,2})(?P<dot>[./-])\s?(?P<month>\d{1,2})(?P=dot)\s?(?P<year>(?:19|20)\d{2})(?!\d)"
)
_YEAR_FIRST = re.compile(
    r"(?<![\d.])(?P<year>(?:19|20)\d{2})(?P<dot>[./-])\s?(?P<month>\d{1,2})(?P=dot)\s?(?P<day>\d{1,2})(?!\d)"
)
_DAYS = (_EAST_ASIAN, _YEAR_FIRST, _DAY_FIRST, _DAY_MONTH_NAME, _MONTH_NAME_DAY)
_ZONES = {"Z": 0, "UTC": 0, "GMT": 0, "CET": 1, "MEZ": 1, "CEST": 2, "MESZ": 2, "BST": 1, "EET": 2, "EEST": 3,
          "MSK": 3, "TRT": 3, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "PST": -8, "PDT": -7, "IST": 5.5,
          "WIB": 7, "JST": 9, "KST": 9, "AEST": 10, "AEDT": 11, "SAST": 2}  # fmt: skip
# Beginnings of the months' names, in the order of the year; where two share one, the longer is asked first.
_MONTHS = (
    "jan jän янв січ gen ene sty oca ιαν يناير जनवरी sij led tammi",
    "feb fév fev фев лют lut şub φεβ فبراير फ़रवरी veljača úno helmi",
    "mar mär märz мар бер maa mrz mrt μάρ μαρ مارس मार्च ožu bře",
    "apr avr abr апр кві kwi nis απρ أبريل ابريل अप्रैल travanj dub huhti",
    "may mai mag maj май мая тра mayıs mei μάι μαΐ مايو मई svibanj kvě touko",
    "jun jún juin giu июн чер cze haz ιούν ιουν يونيو जून lipanj červen kesä",
    "jul júl juil lug июл лип lip tem ιούλ ιουλ يوليو जुलाई srpanj červenec heinä",
    "aug aoû ago авг сер sie ağu αύγ αυγ أغسطس अगस्त kolovoz srp elo",
    "sep set сен вер wrz eyl σεπ سبتمبر सितंबर rujan zář syys",
    "oct okt ott out окт жов paź eki οκτ أكتوبر अक्टूबर listopad říj loka",
    "nov ноя лис kas νοέ νοε نوفمبر नवंबर studeni marras",
    "dec dez déc dic дек гру gru ara δεκ ديسمبر दिसंबर prosinac pro joulu",
)
_MONTH_STARTS = sorted(
    ((start, number) for number, starts in enumerate(_MONTHS, start=1) for start in starts.split()),
    key=lambda item: -len(item[0]),
)


def parse_date(text: str) -> datetime | None:
    """The first date in a statement; None if there is none."""
    text = text.strip()
    if _EPOCH.match(text):
        date = datetime.fromtimestamp(int(text[:10]), tz=UTC)
        return date if 1990 <= date.year <= 2100 else None
    if found := _ISO.search(text):
        day = _day(found["year"], found["month"], found["day"])
        if day and found["hour"]:
            return _at(day, found)
        if day:
            return day
    return next(dates_in(text), None)


def dates_in(text: str) -> Iterator[datetime]:
    """The days that a text names, in the order of their forms, each with the time of day that follows it."""
    for form in _DAYS:
        for found in form.finditer(text):
            month = found.groupdict().get("month") or _month(found["name"])
            day = _day(found["year"], month, found["day"]) if month else None
            if day:
                yield _with_clock(day, text, found)


def _day(year: str, month: str | int, day: str) -> datetime | None:
    try:
        date = datetime(int(year), int(month), int(day))
    except ValueError:  # no such day
        return None
    return date if 1990 <= date.year <= 2100 else None


def _month(name: str) -> int | None:
    lowered = name.casefold()
    return next((number for start, number in _MONTH_STARTS if lowered.startswith(start)), None)


def _with_clock(day: datetime, text: str, found: re.Match[str]) -> datetime:
    """The day with the clock time after it or, as scripts write it, in its middle or before."""
    rest = text[found.end() : found.end() + 40]
    clock = _CLOCK.search(rest)
    return _at(day, clock) if clock else day


def _at(day: datetime, clock: re.Match[str]) -> datetime:
    parts = clock.groupdict()
    hour = int(parts["hour"])
    half = (parts.get("half") or "").lower()[:1]
    if half and hour <= 12:
        hour = hour % 12 + (12 if half == "p" else 0)
    microsecond = int((parts.get("fraction") or "0")[:6].ljust(6, "0"))
    try:
        at = day.replace(
            hour=hour, minute=int(parts["minute"]), second=int(parts["second"] or 0), microsecond=microsecond
        )
    except ValueError:  # no such time
        return day
    return at.replace(tzinfo=_zone(parts["zone"]))


def _zone(text: str | None) -> timezone | None:
    name = (text or "").strip().upper()
    hours = _ZONES.get(name)
    if hours is not None:
        return timezone(timedelta(hours=hours))
    found = re.search(r"([+-])(\d{1,2}):?(\d{2})?$", name)
    if not found:
        return None
    offset = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
    return timezone(-offset if found[1] == "-" else offset) if offset < timedelta(hours=15) else None
