"""Text for terminals, wide and narrow."""

from dataclasses import replace

import pytest

from activetest.render import text


def test_the_report_reads_like_this(whole):
    assert (
        text.render(whole, width=90, color=False)
        == """\
The model is wrong on 5.3 % of items (95 % confidence: 3.1 % to 8.2 %).

  labels used   38 of 1,497 items in digits.parquet
  labels saved  as good as about 118 random labels (3.1x)

metric    estimator      estimate  interval            labels  n_eff  saved
error     doubly-robust     0.053  0.031 to 0.082          38    118   3.1x
error     ase               0.053  0.031 to 0.082          38      -      -
log-loss  doubly-robust    0.3169  0.1178 to no limit      38    118   3.1x

error by group, doubly-robust
group       estimate  interval              labels  items
ink=little     0.053  0.031 to 0.082            12    499
ink=much           -  fewer than 10 labels       3    499

note: The two views disagree.

surrogate agreement, acquisition optimal for error, floor 0.35, seed 7
"""
    )


def test_verdicts_come_first_and_read_like_this(judged):
    written = text.render(judged, width=90, color=False)
    assert written.startswith(
        """\
gates: 1 FAIL, 1 UNDECIDED, 1 PASS (intervals: betting at 90 %)

gate                 verdict    estimate  interval        labels  more labels
error<=0.1           PASS          0.053  0.031 to 0.082      38            -
recall[cat]>=0.8     FAIL          0.610  0.550 to 0.680      38            -
error@ink=much<=0.1  UNDECIDED     0.053  0.017 to 0.134      38    about 130

note: error@ink=much<=0.1: Groups need more labels than the pool.

The model is wrong on 5.3 % of items (95 % confidence: 3.1 % to 8.2 %).
"""
    )


def test_what_holds_for_several_gates_is_said_once(report, gate):
    gates = [gate(requirement=f"error<={share}", reason="Few labels.") for share in (0.1, 0.2, 0.3)]
    written = text.render(report(gates=gates), width=90, color=False)
    assert written.count("Few labels.") == 1
    assert "note: every gate: Few labels.\n" in written
    partly = report(gates=(*gates, gate()))
    note = "note: error<=0.1, error<=0.2, error<=0.3: Few labels.\n"
    assert note in text.render(partly, width=90, color=False)


def test_how_many_more_labels_is_a_column_only_where_somebody_knows(report, gate):
    assert "more labels" not in text.render(report(gates=(gate(),)), width=90, color=False)


def test_verdicts_have_the_colours_of_traffic_lights(judged, row, report):
    written = text.render(judged, width=90, color=True)
    for verdict, color in (("PASS", 32), ("FAIL", 31), ("UNDECIDED", 33)):
        assert f"\x1b[1;{color}m{verdict}" in written
    named = report(row(headline=True), row(group={"ink": "FAIL"}))
    assert "\x1b[1;31m" not in text.render(named, width=90, color=True)


def test_the_status_reads_like_this(whole):
    coming = "next shows the 2 pending items again"
    assert (
        text.status(whole.counts, coming, width=80, color=False)
        == """\
  pool      1,497 items
  rounds    4
  drawn     40
  labelled  38
  pending   2
  declined  0
  supplied  3 (your labels of items that were never drawn)
  budget    200 labels, 162 left

next shows the 2 pending items again
"""
    )


def test_groups_are_shown_by_metric_with_what_all_lines_share_in_the_title(row, report):
    lines = [
        row(metric=metric, class_name=name, group={"ink": value}, level=level, shrunk=0.0602)
        for value in ("little", "much")
        for metric, name, level in (("error", None, 0.95), ("recall", "cat", 0.999))
    ]
    written = text.render(report(row(headline=True), *lines), width=90, color=False)
    assert (
        """\
error by group, doubly-robust
group       estimate  interval        shrunk  labels  items
ink=little     0.053  0.031 to 0.082   0.060      38  1,497
ink=much       0.053  0.031 to 0.082   0.060      38  1,497

recall[cat] by group, doubly-robust, 99.9 % intervals
group       estimate  interval        shrunk  labels  items
ink=little     0.053  0.031 to 0.082   0.060      38  1,497
ink=much       0.053  0.031 to 0.082   0.060      38  1,497
"""
        in written
    )


def test_differences_between_groups_have_a_table_of_their_own(row, report):
    both = {"group": {"ink": "much"}, "against": {"ink": "little"}}
    lines = [
        row(headline=True),
        row(**both, estimate=0.21, lower=0.02, upper=0.4),
        row(**both, metric="brier", estimate=0.21, lower=-0.02, upper=0.44),
    ]
    written = text.render(report(*lines), width=90, color=False)
    assert (
        """\
differences in error, doubly-robust
difference              estimate  interval      differ  labels
ink: much minus little      0.21  0.02 to 0.40  yes         38

differences in brier, doubly-robust
difference              estimate  interval       differ               labels
ink: much minus little      0.21  -0.02 to 0.44  no clear difference      38
"""
        in written
    )
    assert "by group" not in written


def test_an_interval_that_the_labels_do_not_carry_is_marked_and_the_mark_explained(row, report):
    legend = "(!) marks an interval that is not reliable yet"
    written = text.render(report(row(headline=True, reliable=False)), width=90, color=False)
    assert written.startswith(
        "The model is wrong on 5.3 % of items "
        "(95 % confidence: 3.1 % to 8.2 %, not reliable yet).\n"
    )
    assert written.count("(!)") == 2
    assert legend in written
    assert legend not in text.render(report(row(headline=True)), width=90, color=False)


def test_a_confusion_matrix_is_a_matrix(row, report, confusion):
    cells = confusion(("cat", "dog"), lower=None, upper=None)
    assert """\
confusion, doubly-robust: truth in rows, prediction in columns
truth    cat    dog
cat      0.1  0.004
dog    0.002    0.1
""" in text.render(report(row(headline=True), *cells), width=70, color=False)
    bounded = confusion(("cat", "dog"), lower=0.001, upper=0.2)
    written = text.render(report(row(headline=True), *bounded), width=60, color=False)
    assert "\ncat    0.100 (0.001 to 0.200)  0.004 (0.001 to 0.200)\n" in written


def test_each_group_has_its_own_confusion_matrix(row, report, confusion):
    cells = [
        cell for ink in ("much", "little") for cell in confusion(("a", "b"), group={"ink": ink})
    ]
    written = text.render(report(row(headline=True), *cells), width=60, color=False)
    assert written.count("\ntruth") == 2
    assert "confusion, ink=little, doubly-robust: truth in rows" in written


def test_differences_of_a_confusion_matrix_are_a_matrix(row, report, confusion):
    both = {"group": {"ink": "much"}, "against": {"ink": "little"}}
    cells = confusion(("a", "b"), lower=None, upper=None, **both)
    written = text.render(report(row(headline=True), *cells), width=90, color=False)
    assert "confusion, ink: much minus little, doubly-robust: truth in rows" in written
    assert "differences in" not in written


def test_one_cell_that_is_known_very_well_does_not_widen_a_matrix(row, report, confusion):
    first, *others = confusion(("a", "b"), lower=0.0, upper=0.5)
    narrow = replace(first.quantity, estimate=0.1234567, lower=0.1234566, upper=0.1234568)
    sure = replace(first, quantity=narrow)
    written = text.render(report(row(headline=True), sure, *others), width=30, color=False)
    assert "\na      0.1235  0.00\n" in written


@pytest.mark.parametrize(
    "names", [("cat", "cat as dog"), ("as", "as as"), (" as ", "x"), ("", "y")]
)
def test_class_names_may_hold_the_word_between_them(row, report, confusion, names):
    cells = confusion(names, lower=None, upper=None)
    written = text.render(report(row(headline=True), *cells), width=80, color=False)
    assert "truth in rows" in written


def test_a_matrix_with_gaps_is_a_list_of_its_lines(row, report, confusion):
    cells = confusion(("cat", "dog"))[:-1]
    written = text.render(report(row(headline=True), *cells), width=90, color=False)
    assert "truth in rows" not in written
    assert "confusion[dog as cat]" in written


def test_a_matrix_that_is_too_wide_loses_intervals_then_gaps_then_all_but_the_largest_mistakes(
    row, report, confusion
):
    names = [f"class {number}" for number in range(8)]
    sample = report(row(headline=True), *confusion(names, lower=0.001, upper=0.2))
    wide, narrow, narrower = (
        text.render(sample, width=width, color=False) for width in (250, 80, 60)
    )
    assert "0.100 (0.001 to 0.200)" in wide
    assert "\nclass 0    0.100    0.004    0.006 " in narrow
    assert "\nclass 0 0.100 0.004 0.006 " in narrower
    listed = text.render(sample, width=50, color=False)
    assert "mistakes, the 20 largest of 56 (--format json" in " ".join(listed.split())
    rows = [row.split()[-4] for row in listed.splitlines() if " as class " in row]
    assert len(rows) == 20
    assert rows == sorted(rows, reverse=True)


def test_notes_that_need_more_than_a_line_are_indented(whole):
    written = text.render(replace(whole, notes=("word " * 20,)), width=60, color=False)
    assert f"\nnote: {' '.join(['word'] * 11)}\n      {' '.join(['word'] * 9)}\n" in written


def widest(lines: str) -> int:
    return max(map(len, lines.splitlines()))


@pytest.mark.parametrize("width", [20, 30, 44, 60, 72, 80, 120])
def test_text_never_passes_the_edge_of_the_terminal(
    whole, judged, row, report, confusion, result, width
):
    crowded = report(
        row(headline=True),
        row(group={"a long column name": "and a long value"}, shrunk=0.05),
        row(group={"a": "x"}, against={"a": "a rather long value"}, reason="word " * 20),
        *confusion([f"class {number}" for number in range(5)]),
    )
    for sample in (whole, judged, crowded):
        assert widest(text.render(sample, width=width, color=False)) <= width
    assert widest(text.status(whole.counts, "next draws", width=width, color=False)) <= width
    assert widest(text.simulation([result], width=width, color=False)) <= width


@pytest.mark.parametrize("width", [20, 44, 60, 120])
def test_estimators_stay_told_apart_however_narrow_the_terminal_is(whole, width):
    written = text.render(whole, width=width, color=False)
    assert "doubly-robust" in written
    assert "ase" in written.split()


@pytest.mark.parametrize("width", [20, 40, 60, 120])
def test_gates_and_groups_keep_what_decides_however_narrow_the_terminal_is(
    judged, row, report, width
):
    written = " ".join(text.render(judged, width=width, color=False).split())
    assert all(word in written for word in ("PASS", "FAIL", "UNDECIDED", "0.55", "0.68"))
    groups = [row(group={"ink": f"number {number}"}) for number in range(40)]
    written = text.render(report(row(headline=True), *groups), width=width, color=False)
    assert written.count("number ") == 40
    assert " ".join(written.split()).count("0.031 to 0.082") == 41


def test_labels_of_top_scores_are_counted_apart_from_drawn_ones(row, report):
    def used(n_labeled: int, **counts) -> str:
        sample = report(row(headline=True, n_labeled=n_labeled))
        sample = replace(sample, counts=replace(sample.counts, **counts))
        return next(
            each.split("  ")[-1]
            for each in text.render(sample, width=110, color=False).splitlines()
            if "labels used" in each
        ).strip()

    assert used(38, labelled=38) == "38 of 1,497 items in digits.parquet"
    assert (
        used(0, drawn=0, deterministic=10, labelled=10)
        == "0 drawn with known probabilities and 10 without, of 1,497 items in digits.parquet"
    )
    assert (
        used(20, drawn=20, deterministic=12, labelled=30)
        == "20 drawn with known probabilities and 10 without, of 1,497 items in digits.parquet"
    )
    # Chosen, but not answered yet.
    in_pool = "20 of 1,497 items in digits.parquet"
    assert used(20, drawn=20, deterministic=12, labelled=20) == in_pool


def test_color_is_only_for_terminals_that_want_it(judged, monkeypatch):
    assert "\x1b[" in text.render(judged, color=True)
    for name in ("GITHUB_ACTIONS", "FORCE_COLOR", "PY_COLORS"):
        monkeypatch.setenv(name, "1")
    assert "\x1b[" not in text.render(judged)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in text.render(judged)
