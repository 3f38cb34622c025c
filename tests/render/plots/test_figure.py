"""Pictures of simulated strategies."""

import os
import re
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from pytest import approx

from activetest.errors import ChoiceError, StorageError
from activetest.render.plots import figure as _plots
from activetest.render.plots.curves import curves, round_numbers


@pytest.fixture
def results(result) -> list[dict]:
    """Two strategies with two estimators each, two metrics, three budgets."""
    return [
        result
        | {"acquisition": acquisition, "estimator": estimator, "metric": metric}
        | {"budget": budget, "rmse": 0.2 / budget**0.5}
        for metric in ("error", "log-loss")
        for acquisition in ("optimal", "uniform")
        for estimator in ("lure", "ase")
        for budget in (200, 50, 100)
    ]


def read_svg(path) -> str:
    """All text of an SVG."""
    return " | ".join(ElementTree.parse(path).getroot().itertext())


def test_no_other_program_writes_the_text(results, tmp_path):
    """A file matplotlibrc of the working folder can ask for LaTeX."""
    matplotlib = pytest.importorskip("matplotlib")
    with matplotlib.rc_context(
        {"text.usetex": True, "text.latex.preamble": r"\input{/etc/passwd}"}
    ):
        _plots.draw(results, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 10_000


def test_an_svg_names_every_curve_and_metric(results, tmp_path):
    _plots.draw(results, tmp_path / "curves.svg")
    text = read_svg(tmp_path / "curves.svg")
    for name in (
        "optimal, lure",
        "uniform, ase",
        "random draws, plain mean",
        "log-loss: mean squared",
    ):
        assert name in text
    assert "surrogate agreement, 200 simulated studies each" in text


def test_curves_begin_at_the_first_label(results, tmp_path):
    """Axes are logarithmic; what a surrogate says before is in the table."""
    before = [each | {"budget": 0, "uniform_mse": float("nan")} for each in results[:1]]
    _plots.draw(before + results, tmp_path / "curves.svg")
    _plots.draw(results, tmp_path / "without.svg")
    assert (tmp_path / "curves.svg").read_text() == (tmp_path / "without.svg").read_text()
    with pytest.raises(ChoiceError, match="no curve"):
        _plots.draw(before, tmp_path / "none.svg")
    assert not (tmp_path / "none.svg").exists()


def test_a_png_is_a_picture(results, tmp_path):
    pytest.importorskip("matplotlib")
    _plots.draw(results, tmp_path / "curves.PNG")
    assert (tmp_path / "curves.PNG").read_bytes().startswith(b"\x89PNG\r\n")


def test_the_same_results_make_the_same_file(results, tmp_path):
    for name in ("one.svg", "two.svg"):
        _plots.draw(results, tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "change",
    [
        {"rmse": 0.0, "mse_ratio": np.inf, "labels_saved": np.inf, "median": 0.0},
        {"mse_ratio_se": None, "coverage": None},
        {"uniform_median": np.nan, "quartiles": (0.0, 0.0)},
        {"metric": "f1[<b> & $x$ \u4e00\x1b]"},
    ],
)
def test_numbers_that_have_no_logarithm_and_names_of_any_kind_do_no_harm(result, tmp_path, change):
    _plots.draw([result | change, result | {"budget": 20}], tmp_path / "curves.svg")
    text = read_svg(tmp_path / "curves.svg")
    if "metric" in change:
        assert "f1[<b> & $x$ \u4e00\\x1b]: mean" in text
    assert "random draws, plain mean" in text


def test_only_what_differs_is_in_a_name(result):
    def named(*changes: dict) -> list[str]:
        return [curve.name for curve in curves([result | change for change in changes])]

    assert named({}, {"estimator": "lure"}) == ["doubly-robust", "lure"]
    assert named({}, {"power": 2.0}) == ["optimal", "optimal ^2"]
    uniform, top = {"acquisition": "uniform"}, {"selection": "top"}
    assert named({"power": 2.0}, uniform, top) == ["optimal ^2", "uniform", "optimal top"]
    assert named({}) == ["optimal, agreement, doubly-robust"]


def test_curves_are_told_apart_by_colour_while_there_are_colours(result):
    few = curves([result | {"estimator": f"e{number}"} for number in range(7)])
    assert len({curve.color for curve in few}) == 7
    many = curves(
        [
            result | {"acquisition": f"a{place}", "estimator": f"e{number}"}
            for place in range(4)
            for number in range(3)
        ]
    )
    assert len({(curve.color, curve.dashes) for curve in many}) == 12


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (0.8, 3.4, [1, 1.5, 2, 3]),
        (1.8e-4, 6e-3, [2e-4, 5e-4, 1e-3, 2e-3, 5e-3]),
        (3e-6, 0.2, [1e-5, 1e-4, 1e-3, 1e-2, 1e-1]),
        (0.0012, 0.0013, [1e-3, 1.5e-3]),
        (1, 1, [1, 1.5]),
    ],
)
def test_an_axis_has_round_numbers_and_two_at_least(low, high, shown):
    (start, end), ticks = round_numbers(low, high)
    assert ticks == approx(shown)
    assert start <= min(low, *ticks) and end >= max(high, *ticks)


def test_an_axis_of_any_length_has_room_for_its_numbers():
    for power in range(1, 40):
        ends, ticks = round_numbers(10.0**-power, 1.0)
        assert ends == (10.0**-power, 1.0)
        assert 2 <= len(ticks) <= 11


def test_every_panel_says_what_it_shows_with_several_numbers(results, tmp_path):
    _plots.draw(results, tmp_path / "curves.svg")
    text = read_svg(tmp_path / "curves.svg").split(" | ")
    for metric in ("error", "log-loss"):
        assert {f"{metric}: mean squared error", f"{metric}: median squared error"} <= set(text)
        assert f"{metric}: labels used / labels random draws need" in text
    # Mean squared errors go from 0.0002 to 0.0008, in both metrics.
    assert all(text.count(number) >= 2 for number in ("0.0002", "0.0003", "0.0005", "0.0007"))


@pytest.mark.parametrize("name", ["curves.pdf", "curves", "nowhere/curves.svg"])
def test_places_where_no_picture_can_be_written(tmp_path, name):
    with pytest.raises(ChoiceError, match="neither|no folder"):
        _plots.check(tmp_path / name)


def test_a_picture_that_could_not_be_written_is_refused_at_once(tmp_path):
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(ChoiceError, match=r"no picture can be written to .*folder\.png"):
        _plots.check(tmp_path / "folder.png")
    # A name that is too long is shortened in the message.
    with pytest.raises(ChoiceError, match=r"no file can be at .*\.\.\.x+\.png': .*long"):
        _plots.check(tmp_path / f"{'x' * 300}.png")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write all")
def test_a_folder_that_takes_no_files_is_refused_at_once(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(ChoiceError, match="no picture can be written"):
        _plots.check(tmp_path / "curves.png")
    tmp_path.chmod(0o700)


def test_looking_whether_a_picture_can_be_written_changes_nothing(tmp_path):
    pytest.importorskip("matplotlib")
    _plots.check(tmp_path / "new.png")
    (tmp_path / "old.png").write_text("before")
    _plots.check(tmp_path / "old.png", force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["old.png"]
    assert (tmp_path / "old.png").read_text() == "before"


@pytest.mark.parametrize("name", ["curves.svg", "curves.PNG"])
def test_only_a_picture_of_simulate_is_replaced(tmp_path, results, name):
    pytest.importorskip("matplotlib")
    path = tmp_path / name
    path.touch()
    _plots.draw(results, path)
    first = path.read_bytes()
    _plots.draw(results, path)
    assert path.read_bytes() == first
    for mine in (b"<svg></svg>", first.replace(b"activetest", b"my program"), b"notes"):
        path.write_bytes(mine)
        with pytest.raises(ChoiceError, match=f"{name} is there already") as raised:
            _plots.draw(results, path)
        assert "`force=True`" in raised.value.hint and path.read_bytes() == mine
    _plots.draw(results, path, force=True)
    assert path.read_bytes() == first


def test_no_input_becomes_a_picture(tmp_path):
    (tmp_path / "key.png").write_text("id,label")
    for force in (False, True):
        with pytest.raises(StorageError, match="is the answer key, and is never written over"):
            _plots.check(
                tmp_path / "key.png", inputs={"the answer key": tmp_path / "key.png"}, force=force
            )


def test_only_png_needs_matplotlib_and_the_hint_says_what_to_install(
    results, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ChoiceError, match="matplotlib") as caught:
        _plots.check(tmp_path / "curves.png")
    assert "activetest[report]" in caught.value.hint
    _plots.draw(results, tmp_path / "curves.svg")
    assert "log-loss: mean squared" in read_svg(tmp_path / "curves.svg")


def test_an_svg_stands_alone(results, tmp_path):
    """Nothing is run or loaded; each panel has a name; both grounds have their colours."""
    hostile = "</text><script>alert(1)</script>"
    _plots.draw([each | {"estimator": hostile} for each in results], tmp_path / "curves.svg")
    text = (tmp_path / "curves.svg").read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    assert not any(element.tag.endswith("script") for element in root.iter())
    assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"]
    assert text.count('role="img"') == 6 and "prefers-color-scheme:dark" in text


def test_an_earlier_picture_of_matplotlib_is_replaced(results, tmp_path):
    path = tmp_path / "curves.svg"
    path.write_text("<svg><metadata><dc:title>activetest</dc:title></metadata></svg>")
    _plots.draw(results, path)
    assert "log-loss: mean squared" in read_svg(path)
