"""Texts that Unicode calls equal have one spelling."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activetest.nouns.canonical import make_canonical


@given(st.text())
def test_every_form_of_a_text_has_one_canonical_form(text):
    forms = {unicodedata.normalize(form, text) for form in ("NFC", "NFD")}
    assert {make_canonical(each) for each in (text, *forms)} == {unicodedata.normalize("NFC", text)}


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("Zu\u0308rich", "Z\u00fcrich"),
        ("\u212b", "\u00c5"),
        ("\u1112\u1161\u11ab", "\ud55c"),
        # Texts that only look or read alike stay apart.
        ("\uff21", "\uff21"),
        ("\ufb01", "\ufb01"),
        ("A ", "A "),
        ("\udc80", "\udc80"),
    ],
)
def test_only_what_is_canonically_equal_becomes_one(text, canonical):
    assert make_canonical(text) == canonical
