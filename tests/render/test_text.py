"""Text for terminals, wide and narrow, and for pipes."""

import re
from dataclasses import replace

import pytest

from activetest.nouns.report import Note, Weight
from activetest.render import text


def test_the_report_reads_like_this(whole):
    assert (
        text.render(whole, width=90, color=False)
        == """\
The model is wrong on 5.3 % of items (95 % confidence: 3.1 % to 8.2 %).

  labels used   38 of 1,497 items in digits.parquet
  labels saved  as good as about 118 random labels (3.1x)
  about         the 1,497 items of this pool

metric    estimate  interval            labels  n_eff  saved
error        0.053  0.031 to 0.082          38    118   3.1x
log-loss    0.3169  0.1178 to no limit      38    118   3.1x

error by group
group       estimate  interval              labels  items
ink=little     0.053  0.031 to 0.082            12    499
ink=much           -  fewer than 10 labels       3    499

caution: The two views disagree.
"""
    )


def test_with_everything_the_report_reads_like_this(whole):
    noted = replace(whole, notes=(*whole.notes, Note("Losses are in nats.")))
    assert (
        text.render(noted, verbose=True, width=90, color=False)
        == """\
The model is wrong on 5.3 % of items (95 % confidence: 3.1 % to 8.2 %).

  labels used   38 of 1,497 items in digits.parquet
  labels saved  as good as about 118 random labels (3.1x)
  about         the 1,497 items of this pool

metric    estimator      estimate  interval            labels  n_eff  saved
error     doubly-robust     0.053  0.031 to 0.082          38    118   3.1x
error     ase               0.053  0.031 to 0.082          38      -      -
log-loss  doubly-robust    0.3169  0.1178 to no limit      38    118   3.1x

error by group, doubly-robust
group       estimate  interval              labels  items
ink=little     0.053  0.031 to 0.082            12    499
ink=much           -  fewer than 10 labels       3    499

caution: The two views disagree.
note:    Losses are in nats.

doubly-robust: from the draws; ase: the surrogate's own view, without a guarantee
Items are drawn where the surrogate (agreement) expects most to learn about error
(acquisition optimal, floor 0.35, seed 7).
"""
    )


def test_verdicts_come_first_and_read_like_this(judged):
    written = text.render(judged, width=90, color=False)
    assert written.startswith(
        """\
gates: 1 FAIL, 1 UNDECIDED, 1 PASS (90 % intervals, valid at every look)

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
  supplied  0 (your labels of items that were never drawn)
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
error by group
group       estimate  interval        shrunk  labels  items
ink=little     0.053  0.031 to 0.082   0.060      38  1,497
ink=much       0.053  0.031 to 0.082   0.060      38  1,497

recall[cat] by group, 99.9 % intervals
group       estimate  interval        shrunk  labels  items
ink=little     0.053  0.031 to 0.082   0.060      38  1,497
ink=much       0.053  0.031 to 0.082   0.060      38  1,497
"""
        in written
    )


def test_the_title_says_which_columns_share_the_error_of_how_many_intervals(row, report):
    lines = [
        row(group={column: "much"}, level=level)
        for column, level in (("ink", 0.975), ("place", 0.99), ("shift", 0.975))
    ]
    written = text.render(report(row(headline=True), *lines), width=90, color=False)
    assert "\nerror by group, intervals: 97.5 % for ink and shift, 99 % for place\n" in written


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
differences in error
difference              estimate  interval      differ  labels
ink: much minus little      0.21  0.02 to 0.40  yes         38

differences in brier
difference              estimate  interval       differ               labels
ink: much minus little      0.21  -0.02 to 0.44  no clear difference      38
"""
        in written
    )
    assert "by group" not in written


def test_an_interval_that_the_labels_do_not_carry_is_marked_and_the_mark_explained(row, report):
    legend = "(!) marks an interval that is not reliable yet"
    unsure = report(row(headline=True, reliable=False))
    written = text.render(unsure, width=90, color=False)
    assert written.startswith(
        "The model is wrong on 5.3 % of items "
        "(95 % confidence: 3.1 % to 8.2 %, not reliable yet).\n"
    )
    assert "(!)" not in written
    written = text.render(unsure, verbose=True, width=90, color=False)
    assert written.count("(!)") == 2
    assert legend in written
    certain = report(row(headline=True))
    assert legend not in text.render(certain, verbose=True, width=90, color=False)


def test_a_confusion_matrix_is_a_matrix(row, report, confusion):
    cells = confusion(("cat", "dog"), lower=None, upper=None)
    assert """\
confusion: truth in rows, prediction in columns
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
    assert "confusion, ink=little: truth in rows" in written


def test_differences_of_a_confusion_matrix_are_a_matrix(row, report, confusion):
    both = {"group": {"ink": "much"}, "against": {"ink": "little"}}
    cells = confusion(("a", "b"), lower=None, upper=None, **both)
    written = text.render(report(row(headline=True), *cells), width=90, color=False)
    assert "confusion, ink: much minus little: truth in rows" in written
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
        text.render(sample, width=width, color=False) for width in (250, 80, 74)
    )
    assert "0.100 (0.001 to 0.200)" in wide
    assert "No room" not in wide
    assert "\nclass 0    0.100    0.004    0.006 " in narrow
    assert "No room in 80 columns for: intervals of the confusion matrix.\n" in narrow
    assert "\nclass 0   0.100   0.004   0.006 " in narrower
    assert "\ntruth   class 0 class 1 " in narrower
    listed = text.render(sample, width=50, color=False)
    assert "mistakes, the 20 largest of 56 (JSON has all)" in " ".join(listed.split())
    rows = [row.split()[-4] for row in listed.splitlines() if " as class " in row]
    assert len(rows) == 20
    assert rows == sorted(rows, reverse=True)


def test_notes_that_need_more_than_a_line_are_indented(whole):
    noted = replace(whole, notes=(Note("word " * 20),))
    written = text.render(noted, verbose=True, width=60, color=False)
    assert f"\nnote: {' '.join(['word'] * 11)}\n      {' '.join(['word'] * 9)}\n" in written


def test_the_three_heaviest_cautions_are_shown_and_how_to_see_the_rest(whole):
    weights = (Weight.ANSWER, Weight.INVALID, Weight.UNSTABLE, Weight.WIDE, Weight.LIMITED)
    notes = tuple(Note(f"About {weight.name}.", weight) for weight in (*weights, Weight.FACT))
    noted = replace(whole, notes=notes)
    written = text.render(noted, more="report -v", width=90, color=False)
    assert written.endswith(
        """\
note:    About ANSWER.
caution: About INVALID.
caution: About UNSTABLE.
caution: About WIDE.

More with report -v: 1 caution, 1 note.
"""
    )
    assert all(note.text in text.render(noted, verbose=True, width=90) for note in notes)


def test_other_estimators_are_shown_where_they_are_named_or_the_headline_s_has_no_number(
    row, report, nothing
):
    own = row(estimator="ase", n_eff=None)
    both = report(row(headline=True), own)
    assert "ase" not in text.render(both, width=90)
    assert "error   ase " in text.render(both, verbose=True, width=90)
    assert "error   ase " in text.render(replace(both, estimators=("doubly-robust", "ase")))
    early = report(row(**nothing, reason="nothing drawn", headline=True), own)
    written = text.render(early, width=90)
    assert written.startswith("No estimate yet: nothing drawn.\n")
    assert "error   ase           0.053  0.031 to 0.082 " in written
    # Of each metric: what has no number by one estimator may have one by another.
    missing = row(**nothing, metric="brier", reason="no draws")
    mixed = report(row(headline=True), own, missing, row(metric="brier", estimator="ase"))
    written = text.render(mixed, width=90)
    assert "error   doubly-robust " in written and "brier   ase " in written
    assert "brier   doubly-robust" not in written and "error   ase" not in written


def test_a_table_that_would_repeat_the_headline_is_not_printed(row, report):
    only = report(row(headline=True))
    assert "metric  " not in text.render(only, width=90)
    assert "metric  " in text.render(only, verbose=True, width=90)
    several = report(row(headline=True), row(metric="brier"))
    assert text.render(several, width=90).count("\nerror   ") == 1


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
        for verbose in (False, True):
            written = text.render(sample, verbose=verbose, width=width, color=False)
            assert widest(written) <= width
    assert widest(text.status(whole.counts, "next draws", width=width, color=False)) <= width
    assert widest(text.simulation([result], width=width, color=False)) <= width


@pytest.mark.parametrize("width", [20, 44, 60, 120])
def test_estimators_stay_told_apart_however_narrow_the_terminal_is(whole, width):
    written = text.render(whole, verbose=True, width=width, color=False)
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
    assert " ".join(written.split()).count("0.031 to 0.082") == 40


def test_labels_of_top_scores_are_counted_apart_from_drawn_ones(row, report):
    def used(n_labeled: int, bought: int, **counts) -> str:
        sample = report(row(headline=True, n_labeled=n_labeled, n_answers=bought))
        sample = replace(sample, counts=replace(sample.counts, **counts))
        return next(
            each.split("  ")[-1]
            for each in text.render(sample, width=110, color=False).splitlines()
            if "labels used" in each
        ).strip()

    in_pool = " of 1,497 items in digits.parquet"
    assert used(38, 38, labeled=38) == "38" + in_pool
    picked = {"drawn": 0, "deterministic": 10, "labeled": 10}
    assert used(0, 10, **picked) == "10 (10 not drawn at random)" + in_pool
    picked = {"drawn": 20, "deterministic": 12, "labeled": 30}
    assert used(20, 30, **picked) == "30 (10 not drawn at random)" + in_pool
    # Chosen, but not answered yet.
    assert used(20, 20, drawn=20, deterministic=12, labeled=20) == "20" + in_pool
    several = {"labeled": 30, "declined": 2, "supplied": 1000}
    assert used(30, 1032, **several) == "1,032 (1,000 supplied, 2 declined)" + in_pool


LONG = "region=" + "-".join(["a very long name"] * 6)


@pytest.mark.parametrize("width", [30, 50, 64, 80, 100, 120, 200])
def test_names_are_never_broken(row, report, gate, confusion, width):
    """Spare columns go first; then the name has a line of its own."""
    names = ("short", "North Rhine-Westphalia / Dusseldorf", "x")
    sample = report(
        row(headline=True),
        row(metric="false-positive-rate", class_name="a class"),
        *(row(group={"state": name}, shrunk=0.05) for name in names),
        row(group={"state": names[1]}, against={"state": "x"}),
        gates=(gate(requirement="false-positive-rate[a class]@state=x<=0.25", more_labels=128),),
    )
    written = text.render(sample, width=width, color=False)
    lines = written.splitlines()
    assert widest(written) <= width
    for name in ("state=short", f"state={names[1]}", "state=x"):
        if len(name) <= width:
            assert any(line.startswith(name) for line in lines), name
    for name in ("false-positive-rate[a class]", f"state: {names[1]} minus x"):
        if len(name) <= width:
            assert any(line.startswith(name) for line in lines), name
    if width > 50:
        assert any(line.startswith(sample.gates[0].requirement) for line in lines)


def test_on_a_narrow_terminal_rows_stand_under_their_names(row, report):
    long = "North Rhine-Westphalia / Dusseldorf and its surroundings"
    groups = [row(group={"state": name}) for name in (long, "x")]
    assert """\
error by group
group
  estimate  interval        labels  items
state=North Rhine-Westphalia / Dusseldorf and its surroundings
     0.053  0.031 to 0.082      38  1,497
state=x
     0.053  0.031 to 0.082      38  1,497
""" in text.render(report(row(headline=True), *groups), width=64, color=False)


def test_a_name_that_is_wider_than_the_terminal_loses_its_middle(row, report):
    sample = report(row(headline=True), row(group={"region": f"{LONG}, the second of two"}))
    lines = text.render(sample, width=50, color=False).splitlines()
    (cut,) = (line for line in lines if line.startswith("region=region=a"))
    assert cut.startswith("region=region=a very lo") and cut.endswith("me, the second of two")
    assert "..." in cut and len(cut) == 50


def test_a_terminal_says_once_which_columns_it_has_no_room_for(row, report):
    groups = [row(group={"a column": f"and its value {place}"}, shrunk=0.05) for place in (1, 2)]
    sample = report(row(headline=True), row(metric="brier"), *groups)
    for width, missing in ((44, "n_eff, saved, items, labels."), (80, ""), (200, "")):
        written = " ".join(text.render(sample, width=width, color=False).split())
        assert ("No room" in written) == bool(missing)
        if missing:
            assert f"No room in {width} columns for: " in written


@pytest.mark.parametrize("columns", [None, "40", "200"])
def test_pipes_and_files_have_all_columns_and_prose_of_their_own_width(
    row, report, confusion, result, monkeypatch, columns
):
    """A program reads the table; whoever reads the prose does not scroll."""
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    sample = report(
        row(headline=True),
        row(metric="brier", reason=" ".join(["word"] * 60), lower=None, upper=None),
        row(group={"region": LONG}, shrunk=0.05),
        *confusion([f"class {number}" for number in range(9)], lower=0.001, upper=0.2),
        notes=(Note("word " * 60, Weight.WIDE),),
    )
    monkeypatch.setattr("sys.stdout.isatty", lambda: False)
    written = text.render(sample)
    assert f"region={LONG}     0.053  0.031 to 0.082   0.050      38  1,497\n" in written
    assert "word " * 59 + "word      38 " in written
    assert "0.100 (0.001 to 0.200)" in written
    assert "No room" not in written
    noted = written.partition("caution: ")[2].splitlines()[0]
    assert len("caution: ") + len(noted) <= int(columns or 80) < len("caution: ") + len(noted) + 5
    simulated = text.simulation([result]).splitlines()
    assert simulated[0].split()[-3:] == ["median", "bias", "runs"]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    assert widest(text.render(sample)) <= int(columns or 80)


def test_color_is_only_for_terminals_that_want_it(judged, monkeypatch):
    assert "\x1b[" in text.render(judged, color=True)
    for name in ("GITHUB_ACTIONS", "FORCE_COLOR", "PY_COLORS"):
        monkeypatch.setenv(name, "1")
    assert "\x1b[" not in text.render(judged)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in text.render(judged)


def test_the_headline_is_a_warning_unless_its_interval_is_reliable(row, report, nothing):
    for changes, style in (({}, "1"), ({"reliable": False}, "33"), (nothing, "33")):
        written = text.render(report(row(headline=True, **changes)), width=90, color=True)
        assert written.startswith(f"\x1b[{style}m")


def test_gates_say_when_their_intervals_hold(report, row, gate):
    once = {"method": "korn-graubard", "level": 0.98}
    known = gate(method="exact", level=0.98)

    def first_line(*gates):
        written = text.render(report(row(headline=True), gates=gates), width=100, color=False)
        return written.partition("\n")[0]

    assert first_line(gate(**once)) == "gates: 1 PASS (98 % intervals, for one look)"
    assert first_line(known) == "gates: 1 PASS"
    assert first_line(gate(), gate(**once), known) == (
        "gates: 3 PASS (90 % intervals, valid at every look; 98 % intervals, for one look)"
    )


def test_what_an_unreliable_row_saved_is_not_in_its_cells(row, report):
    early = {"reliable": False, "n_eff": None, "too_early": True}
    rows = row(headline=True), row(metric="log-loss", **early)
    written = text.render(report(*rows), width=90, color=False)
    assert "38    118       3.1x\n" in written
    assert "(!)      38      -  too early\n" in written


def test_a_whole_confusion_matrix_has_no_sentence_about_its_first_cell(report, confusion):
    first, *others = confusion(("cat", "dog"))
    whole = report(replace(first, headline=True), *others)
    written = text.render(whole, width=90, color=False)
    assert written.startswith(
        "The confusion matrix is estimated from 38 labels.\n\n"
        "  labels used  38 of 1,497 items in digits.parquet\n"
        "  about        the 1,497 items of this pool\n\n"
        "confusion: truth in rows, prediction in columns\n"
    )
    assert text.sentence(whole) == "The confusion matrix is estimated from 38 labels."
    one_cell = text.render(report(replace(first, headline=True)), width=90, color=False)
    assert one_cell.startswith("The share of items that are cat and predicted as cat is 0.10")


def test_no_line_ends_within_how_certain_a_number_is(whole):
    expected = text.render(whole, width=200).splitlines()[0]
    assert "(95 % confidence: " in expected
    for width in range(25, 110):
        lines = text.render(whole, width=width).splitlines()
        sentence = lines[: lines.index("")]
        assert " ".join(sentence) == expected
        assert any("(95 % confidence" in line for line in sentence)


def test_a_row_counts_the_labels_that_it_rests_on(row, report):
    """Of precision, labels of items that are predicted as the class; all were bought."""
    precision = row(metric="precision", class_name="fraud", n_labeled=12, n_answers=38)
    assert precision.n_items == 38 != precision.n_labeled
    lines = text.render(report(row(), precision), width=90, color=False).splitlines()
    cells = [line.split() for line in lines if re.search(r"\d to \d", line) and "(95" not in line]
    table = {each[0]: each[each.index("to") + 2] for each in cells}
    assert table == {"error": "38", "precision[fraud]": "12"}
