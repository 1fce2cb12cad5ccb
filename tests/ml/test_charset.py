"""Bytes to text, whatever the headers claim."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.charset import PageError, decode
from ml.records import Reason

GERMAN = "<html><body><p>Die Größe des Gebäudes überrascht: 5 € für „Müll“"
JAPANESE = "<html><body><p>東京の天気は晴れです。今日のニュースをお伝えします。"
RUSSIAN = "<html><body><p>Сегодня в городе открыли новый мост через реку. Движение начнётся утром."


def with_meta(html: str, charset: str) -> bytes:
    return html.replace("<html>", f'<html><head><meta charset="{charset}"></head>').encode(charset, "replace")


@pytest.mark.parametrize(
    "charset", [None, "utf-8", "iso-8859-1", "no-such-charset", "base64", "", "x\0y", "utf-7"]
)
def test_utf8_is_recognised_whatever_the_header_says(charset: str | None) -> None:
    assert decode(GERMAN.encode(), charset=charset) == GERMAN


@pytest.mark.parametrize(
    ("data", "charset", "expected"),
    [
        (GERMAN.encode("cp1252"), "ISO-8859-1", GERMAN),  # the name of Latin-1 means Windows' superset
        (GERMAN.encode("cp1252"), '"windows-1252"', GERMAN),
        (JAPANESE.encode("shift_jis"), "Shift_JIS", JAPANESE),
        (JAPANESE.encode("euc_jp"), "euc-jp", JAPANESE),
        (JAPANESE.encode("iso2022_jp"), "iso-2022-jp", JAPANESE),
        (RUSSIAN.encode("koi8_r"), "koi8-r", RUSSIAN),
        (codecs.BOM_UTF8 + GERMAN.encode(), "koi8-r", GERMAN),
        (GERMAN.encode("utf-16"), "utf-8", GERMAN),
        (codecs.BOM_UTF16_BE + GERMAN.encode("utf-16-be"), None, GERMAN),
        (codecs.BOM_UTF32_LE + GERMAN.encode("utf-32-le"), None, GERMAN),
        (GERMAN.encode("utf-16-le"), None, GERMAN),
        (GERMAN.encode("utf-16-be"), None, GERMAN),
    ],
)
def test_mark_and_header(data: bytes, charset: str | None, expected: str) -> None:
    assert decode(data, charset=charset) == expected


@pytest.mark.parametrize(
    ("html", "charset"), [(JAPANESE, "shift_jis"), (GERMAN, "windows-1252"), (RUSSIAN, "windows-1251")]
)
def test_meta_tag_counts_without_a_header(html: str, charset: str) -> None:
    assert html[-20:] in decode(with_meta(html, charset))


def test_undeclared_charset_is_guessed() -> None:
    assert decode((RUSSIAN * 5).encode("cp1251")) == RUSSIAN * 5


def test_cut_and_stray_bytes_do_not_spoil_utf8() -> None:
    data = (GERMAN * 20).encode()[:-1] + b"\xff"
    assert decode(data).startswith(GERMAN * 19)


@pytest.mark.parametrize(
    "magic", [b"\x89PNG\r\n", b"\x1f\x8b\x08", b"%PDF-1.7", b"PK\3\4", b"\xff\xd8\xff\xe0", b"GIF89a"]
)
def test_binary_data_is_refused(magic: bytes) -> None:
    with pytest.raises(PageError, match="expected HTML, found binary data") as caught:
        decode(magic + bytes(100))
    assert caught.value.reason is Reason.NOT_HTML


@given(
    st.text(st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="\ufeff")), st.text(max_size=12)
)
def test_utf8_survives_any_header(text: str, charset: str) -> None:
    assert decode(f"<p>ä{text}".encode(), charset=charset) == f"<p>ä{text}"
