"""Objects that a notebook shows as they are."""

import html
import xml.etree.ElementTree as ET

from activetest.nouns.shown import Picture, WholePage


def test_a_picture_is_its_text_and_a_notebook_draws_it():
    picture = Picture("<svg/>")
    assert picture == picture._repr_svg_() == "<svg/>"
    assert type(picture._repr_svg_()) is str
    assert repr(picture) == "<Picture: SVG of 6 characters>"


def test_a_page_is_in_a_frame_that_runs_no_script():
    page = WholePage('<!DOCTYPE html><p title="a">b & c</p>')
    frame = ET.fromstring(page._repr_html_())
    assert frame.tag == "iframe" and frame.get("sandbox") == ""
    assert frame.get("srcdoc") == page
    assert html.escape(page) in page._repr_html_()
    assert repr(page) == f"<WholePage: HTML of {len(page)} characters>"
