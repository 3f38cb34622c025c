"""Texts of other people's files in terminals and spreadsheets, and secrets in addresses."""

from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activetest.system.safe_text import (
    escape_controls,
    mask_secrets,
    neutralise_cell,
    restore_cell,
    shorten_readable,
)

TEXTS = st.text("'=+-@\t\r\n\uff1d1a,.", max_size=6) | st.text(max_size=6)


@given(TEXTS)
def test_nothing_of_a_text_is_obeyed_and_plain_text_stays(text):
    escaped = escape_controls(text)
    assert escaped.isprintable()
    assert (escaped == text) == text.isprintable()


def test_marks_that_hide_and_turn_text_are_written_out():
    hidden = "a\x1b[2J\x9b\x07\u202e\u200b\u2028\ufeff\U000e0041\x7f\udc80\n"
    assert escape_controls(hidden) == (
        r"a\x1b[2J\x9b\x07\u202e\u200b\u2028\ufeff\U000e0041\x7f\udc80\n"
    )
    assert escape_controls("a\n\tb", keep="\n") == "a\n\\tb"


@given(TEXTS)
def test_a_cell_is_never_a_formula_and_becomes_the_text_again(text):
    cell = neutralise_cell(text)
    assert restore_cell(cell) == text
    if cell[:1] in tuple("=+-@\t\r\n\uff1d"):
        assert cell == text and isfinite(float(cell.replace(",", ".")))


@given(TEXTS, TEXTS)
def test_different_texts_are_different_cells(first, second):
    assert (neutralise_cell(first) == neutralise_cell(second)) == (first == second)


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+", "'+"),
        ("-x", "'-x"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("'=1", "''=1"),
        ("-1", "-1"),
        ("-3.5e-7", "-3.5e-7"),
        ("+1,5", "+1,5"),
        ("-1-2", "'-1-2"),
        ("a=b", "a=b"),
        ("'a", "'a"),
        ("", ""),
    ],
)
def test_what_a_spreadsheet_would_run_begins_with_an_apostrophe(text, cell):
    assert neutralise_cell(text) == cell


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("s3://KEY:SECRET@bucket/pool.parquet", "s3://***@bucket/pool.parquet"),
        ("s3://KEY:SEC/R+ET=@bucket/pool.parquet", "s3://***@bucket/pool.parquet"),
        ("https://user:pass@host:8080/a", "https://***@host:8080/a"),
        ("https://token@host/a", "https://***@host/a"),
        ("https://h/a?sv=1&sig=SECRET%3D", "https://h/a?sv=***&sig=***"),
        ("https://h/a#access_token=SECRET", "https://h/a#access_token=***"),
        ("https://h/a?A0b1C2d3E4f5G6h7I8j9K0", "https://h/a?***"),
        ("https://h/a?X-Amz-Signature=SECRET#x", "https://h/a?X-Amz-Signature=***#x"),
        ("s3://b/a?region=eu&secret_key=SECRET", "s3://b/a?region=eu&secret_key=***"),
        ("'s3://K:SECRET@b': no 's3://K:SECRET@b/c'", "'s3://***@b': no 's3://***@b/c'"),
        # No secrets: a port, a name in a path, a container, a user without a password.
        ("s3://host:9000/pool@2x", "s3://host:9000/pool@2x"),
        ("s3://b/a?endpoint_override=localhost:9000", "s3://b/a?endpoint_override=localhost:9000"),
        ("https://h/a.parquet?download=true", "https://h/a.parquet?download=true"),
        ("https://h/a.parquet?raw#top", "https://h/a.parquet?raw#top"),
        ("gs://anonymous@bucket/a", "gs://anonymous@bucket/a"),
        ("abfs://container@account.example/a", "abfs://container@account.example/a"),
        ("C:/users/me@home?token=1", "C:/users/me@home?token=1"),
        ("see http://host/ and write to me@host", "see http://host/ and write to me@host"),
    ],
)
def test_addresses_are_shown_without_their_secrets(address, shown):
    assert mask_secrets(address) == shown
    assert mask_secrets(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("short", "short"),
        ("exactly te", "exactly te"),
        ("exactly ten!", "exactly t…"),
        ("a\tb\r\nc", "a    b\nc"),
        # An escape is written whole or not at all.
        ("123456\x1b7890", "123456…"),
        ("12345\x1b", "12345\\x1b"),
        ("12345678\x1b", "12345678…"),
        # An accent stays with its letter, joined emoji stay together or go.
        ("12345678e\u0301x", "12345678…"),
        ("1234567e\u0301xyz", "1234567e\u0301…"),
        ("1234567\U0001f469\u200d\U0001f680yz", "1234567…"),
    ],
)
def test_a_long_text_is_cut_where_no_character_is_broken(text, shown):
    assert shorten_readable(text, 10) == shown
    assert len(shown) <= 10
    assert shorten_readable(text * 10_000, 10).endswith("…")
