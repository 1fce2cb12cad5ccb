"""From the bytes of a response to text, whatever its headers claim.

Belongs here: telling HTML from binary data, choosing the character encoding, repairing broken code points.
Does not belong here: decompression and HTTP (`resources/`), or anything about tags (`ml/page.py`).
"""

import codecs
import re

from ml.records import Reason

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MAGIC = (
    b"\x89PNG",
    b"GIF8",
    b"\xff\xd8\xff",
    b"%PDF-",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ",
    b"RIFF",
    b"\x28\xb5\x2f\xfd",
    b"\x00\x00\x01\x00",
    b"wOFF",
    b"wOF2",
    b"OTTO",
    b"\x7fELF",
    b"ID3",
    b"OggS",
)

# What pages call a charset is, by the WHATWG encoding standard, the name of a superset of it.
_SUPERSETS = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "tis-620": "cp874",
}
# Text codecs of Python that no browser takes for a charset.
_NO_CHARSETS = frozenset(("utf-7", "idna", "punycode", "unicode-escape", "raw-unicode-escape", "rot13"))
_META_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{2,40})""", re.IGNORECASE)
_META_WINDOW = 8_192  # bytes; the standard says 1,024, real pages put scripts first
_SAMPLE = 65_536  # bytes that detection looks at
_TAG = re.compile(
    r"<(?:!doctype|html|head|body|title|meta|script|div|article|section|p|h1|a|span)\b", re.IGNORECASE
)
_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\ufffd]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BINARY_SAMPLE = 4_096  # characters
_MAX_CONTROL_SHARE = 0.05


class PageError(ValueError):
    """The input is no page that can be read; `reason` is what the record of the page says."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def decode(data: bytes, *, charset: str | None = None) -> str:
    """The text of a page, decoded; a wrong `charset` (from the HTTP header) costs nothing.

    Valid UTF-8 is taken as UTF-8 whatever is declared, because text of another encoding is hardly ever valid
    UTF-8 while headers are often wrong. Then count, in this order, the header, `<meta charset>` and a guess.
    NULs are left out. Raises `PageError` (`NOT_HTML`) for binary data.
    """
    if data.startswith(_MAGIC):
        raise PageError(Reason.NOT_HTML, f"expected HTML, found binary data that starts with {data[:4]!r}")
    return text_or_raise(_decode(data, charset)).replace("\0", "")


def text_or_raise(text: str) -> str:
    """`text` itself; raises `PageError` where it is binary data that someone decoded."""
    sample = text[:_BINARY_SAMPLE]
    if len(_CONTROL.findall(sample)) > _MAX_CONTROL_SHARE * len(sample) and not _TAG.search(sample):
        raise PageError(Reason.NOT_HTML, f"expected HTML, found binary data that starts with {text[:8]!r}")
    return text


def encode(text: str) -> bytes:
    """UTF-8, with the replacement character for lone surrogates."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text).encode()


def _decode(data: bytes, charset: str | None) -> str:
    for mark, codec in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(codec, "replace")
    return _decode_unmarked(data, _declared(data, charset))


def _declared(data: bytes, charset: str | None) -> list[str]:
    """Python codecs for the header's charset and the page's own, where Python knows them."""
    in_page = _META_CHARSET.search(data, 0, _META_WINDOW)
    names = [charset or "", in_page[1].decode("ascii", "replace") if in_page else ""]
    return [codec for name in names if (codec := _codec(name))]


def _codec(name: str) -> str | None:
    try:
        codec = codecs.lookup(name.strip().strip("\"'")).name
        b"a".decode(codec)
    except (LookupError, ValueError):  # unknown, not for text (as "base64"), or no name at all
        return None
    return None if codec in _NO_CHARSETS else _SUPERSETS.get(codec, codec)


def _decode_unmarked(data: bytes, declared: list[str]) -> str:
    stateful = [codec for codec in declared if codec.startswith(("iso2022", "hz"))]
    if stateful:  # seven-bit encodings are valid UTF-8 without meaning it
        return data.decode(stateful[0], "replace")
    if (wide := _utf16_without_mark(data)) is not None:
        return data.decode(wide, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return _decode_not_utf8(data, declared)


def _utf16_without_mark(data: bytes) -> str | None:
    """UTF-16 text in mostly Latin letters has a NUL in every second byte."""
    head = data[:1_000]
    half = len(head) // 2
    if half < 8:
        return None
    if head[1::2].count(0) > 0.7 * half and head[::2].count(0) == 0:
        return "utf-16-le"
    if head[::2].count(0) > 0.7 * half and head[1::2].count(0) == 0:
        return "utf-16-be"
    return None


def _decode_not_utf8(data: bytes, declared: list[str]) -> str:
    for codec in declared:
        try:
            return data.decode(codec)
        except UnicodeError:
            continue
    as_utf8 = data.decode("utf-8", "replace")
    broken = as_utf8.count("\ufffd")
    if broken * 20 <= sum(byte >= 0x80 for byte in data[:_SAMPLE]):  # UTF-8 with a cut or a stray byte
        return as_utf8
    return data.decode(declared[0] if declared and declared[0] != "utf-8" else _guess(data), "replace")


def _guess(data: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(data[:_SAMPLE]).best()
    return best.encoding if best else "cp1252"
