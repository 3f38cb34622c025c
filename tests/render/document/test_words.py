"""Numbers in words."""

import json
import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from activetest import catalog
from activetest.item_statistics.metric import Facts
from activetest.item_statistics.specification import find_metric
from activetest.render import html, markdown, text
from activetest.render import json as as_json
from activetest.render.document import words


@pytest.mark.parametrize(
    ("value", "doubt", "written"),
    [
        (0.0531, 0.025, "0.053"),
        (54.711, 5.2, "54.7"),
        (12345.6, 300, "12,346"),
        (-0.0001, 0.02, "0.000"),
        (0.25, 0, "0.25"),
        (0.25, None, "0.25"),
        (1.0, 1e-17, "1"),
        (None, 0.1, "-"),
        (math.nan, 0.1, "-"),
    ],
)
def test_figures_are_as_precise_as_their_doubt(value, doubt, written):
    assert words.figure(value, doubt) == written


@pytest.mark.parametrize(
    ("value", "doubt", "limit", "written"),
    [
        (0.8996, 0.05, 0.9, "0.8996"),
        (0.9004, 0.05, 0.9, "0.9004"),
        (0.9, 0.05, 0.9, "0.900"),
        (0.8931, 0.05, 0.9, "0.893"),
        (-0.004, 0.3, 0.0, "-0.004"),
        (0.89996, None, 0.9, "0.89996"),
        (np.float64(0.89996), None, 0.9, "0.89996"),
        (0.85, None, 0.9, "0.85"),
    ],
)
def test_rounding_never_moves_a_figure_across_the_number_that_decides(value, doubt, limit, written):
    assert words.figure(value, doubt, limit) == written


@pytest.mark.parametrize(
    ("level", "written"),
    [
        (0.95, "95 %"),
        (0.9, "90 %"),
        (1 - 0.05 / 3, "98.3 %"),
        (0.999, "99.9 %"),
        (1 - 0.05 / 800, "99.9938 %"),
        (1 - 3e-11, "99.999999997 %"),
        (0.5, "50 %"),
        (1.0, "100 %"),
    ],
)
def test_levels_are_written_to_two_digits_of_what_is_missing(level, written):
    assert words.write_level(level) == written


def test_the_ends_of_a_gate_s_interval_show_on_which_side_of_the_threshold_they_are(gate):
    close = gate(estimate=0.05, lower=0.0, upper=0.10004, verdict="undecided")
    assert words.interval(close) == "0.000 to 0.10004"


def test_a_difference_that_excludes_zero_says_so_and_nothing_is_claimed_of_others(row):
    against = {"group": {"ink": "much"}, "against": {"ink": "little"}}
    apart = row(**against, estimate=-0.2, lower=-0.4, upper=-0.003)
    assert (words.differ(apart), words.interval(apart)) == ("yes", "-0.40 to -0.003")
    assert words.differ(row(**against, lower=-0.1, upper=0.2)) == "no clear difference"
    assert words.differ(row(**against, lower=None, upper=None)) == "-"


@pytest.mark.parametrize(
    ("group", "against", "written"),
    [
        ({"ink": "much"}, None, "ink=much"),
        ({"a*b": "x*y"}, None, "a*b=x*y"),
        ({"ink": "much"}, {"ink": "little"}, "ink: much minus little"),
        ({"ink": "much"}, {"pen": "red"}, "ink=much minus pen=red"),
        ({"ink": "much"}, {}, "ink=much minus all items"),
    ],
)
def test_groups_and_differences_of_groups(row, group, against, written):
    assert words.group(row(group=group, against=against)) == written


@pytest.mark.parametrize(
    ("changes", "written"),
    [
        ({}, "The model is wrong on 5.3 % of items (95 % confidence: 3.1 % to 8.2 %)."),
        (
            {"metric": "accuracy", "estimate": 0.936, "lower": 0.885, "upper": 1.0},
            "The model is right on 93.6 % of items (95 % confidence: 88.5 % to 100.0 %).",
        ),
        (
            {"group": {"ink": "much"}},
            "The model is wrong on 5.3 % of items with ink=much (95 % confidence: 3.1 % to 8.2 %).",
        ),
        (
            {"metric": "recall", "class_name": "{fraud}", "estimate": 0.81, "upper": 0.87},
            "Recall of {fraud} is 0.81 (95 % confidence: 0.03 to 0.87).",
        ),
        (
            {"metric": "rmse", "estimate": 2.1, "upper": math.inf, "group": {"a": "b"}},
            "RMSE for a=b is 2.1 (95 % confidence: 0.0312 to no limit).",
        ),
        ({"metric": "false-positive-rate"}, "False positive rate is 0.053 (95 % confidence: "),
        ({"method": "credible"}, "The model is wrong on 5.3 % of items (95 % credible: 3.1 % to 8"),
        ({"metric": "ece[10]"}, "Calibration error (10 bins) is 0.053 (95 % confidence: "),
        ({"metric": "of-a-plugin"}, "Of a plugin is 0.053 (95 % confidence: "),
        ({"metric": "of-a-plugin[x,y]"}, "Of a plugin (x, y) is 0.053 (95 % confidence: "),
        ({"metric": "f1[macro]"}, "Macro F1 is 0.053 (95 % confidence: "),
        ({"metric": "f-beta[2,weighted]"}, "Weighted F2 is 0.053 (95 % confidence: "),
        (
            {"metric": "confusion", "class_name": "a as b", "group": {"ink": "much"}},
            "The share of items with ink=much that are class a and predicted as class b is 0.053",
        ),
        ({"metric": "confusion", "class_name": "a as b as a"}, "Confusion of a as b as a is 0.053"),
        (
            {"metric": "confusion", "class_name": "cat as dog"},
            "The share of items that are cat and predicted as dog is 0.053 (95 % ",
        ),
        ({"metric": "recall", "class_name": "1"}, "Recall of class 1 is 0.053 ("),
        ({"metric": "recall", "class_name": "-2.5"}, "Recall of class -2.5 is 0.053 ("),
        ({"metric": "f1", "class_name": "x"}, "F1 of class x is 0.053 ("),
        (
            {"metric": "rate", "class_name": "pass", "from_outputs": 0.0804, "group": {"a": "b"}},
            "5.3 % of items with a=b pass (95 % confidence: 3.1 % to 8.2 %); the model says 8.0 %.",
        ),
        ({"metric": "rate", "class_name": "1"}, "5.3 % of items are class 1 (95 % conf"),
        ({"metric": "rate", "class_name": "Passed"}, "5.3 % of items pass (95 % conf"),
        ({"metric": "rate", "class_name": "fraud"}, "5.3 % of items are fraud (95 % conf"),
        (
            {"metric": "mean", "from_outputs": 0.0804},
            "The mean label is 0.053 (95 % confidence: 0.031 to 0.082); the model says 0.080.",
        ),
        (
            {"estimate": None, "reason": "no labels", "from_outputs": 0.5},
            "No estimate yet: no labels.",
        ),
        (
            {"estimate": None, "reason": "no plain mean: the draws were not uniform"},
            "No plain mean: the draws were not uniform.",
        ),
    ],
)
def test_an_estimate_is_a_sentence(row, changes, written):
    sentence = words.sentence(row(**changes))
    assert sentence == written if written.endswith(".") else sentence.startswith(written)


# How a headline about each metric begins: of a binary pool, of more classes, or of regression.
HEADLINES = {
    "accuracy": "The model is right on 5.3 % of items",
    "auroc": "AUROC of {fraud} is",
    "average-precision": "Average precision of {fraud} is",
    "balanced-accuracy": "Balanced accuracy is",
    "bias": "Bias of {fraud} is",
    "brier": "Brier score is",
    "calibration-error-squared[10]": "Squared calibration error (10 bins) is",
    "classwise-ece": "Classwise calibration error is",
    "confusion[ok as {fraud}]": "The share of items that are ok and predicted as {fraud} is",
    "cost": "Mean cost is",
    "ece[equal-count]": "Calibration error (equal-count bins) is",
    "error": "The model is wrong on 5.3 % of items",
    "f-beta[0.5]": "F0.5 of {fraud} is",
    "f1[macro]": "Macro F1 is",
    "false-positive-rate": "False positive rate of {fraud} is",
    "interval-coverage[0.9]": "Coverage of intervals at level 0.9 is",
    "kappa": "Cohen's kappa is",
    "log-loss": "Log-loss is",
    "mae": "MAE is",
    "mcc": "Matthews correlation is",
    "mean[0,1]": "The mean label (scale 0, 1) is",
    "mse": "MSE is",
    "nll": "Negative log-likelihood is",
    "pinball[0.9]": "Pinball loss at quantile 0.9 is",
    "precision[weighted]": "Weighted precision is",
    "precision-at-k[20]": "Precision in the top 20 of {fraud} is",
    "r2": "R2 is",
    "rate": "5.3 % of items are {fraud}",
    "recall": "Recall of {fraud} is",
    "recall-at-fpr[0.1]": "Recall at false positive rate 0.1 of {fraud} is",
    "rmse": "RMSE is",
    "specificity[macro]": "Macro specificity is",
    "top-k-error[1]": "Top-1 error is",
}


def test_the_headlines_below_are_of_every_metric():
    assert [name.partition("[")[0] for name in HEADLINES] == list(catalog.names("metrics"))


@pytest.mark.parametrize("asked", HEADLINES)
def test_the_headline_of_every_metric_is_a_sentence(row, asked):
    classes, scores = ("ok", "{fraud}"), np.linspace(0, 1, 50)
    binary = Facts(
        "classification", classes, 1, True, costs=((0, 1), (2, 0)), scores=lambda code: scores
    )
    numbers = Facts("regression", deviation=True)
    task = catalog.fact("metrics", asked.partition("[")[0], "TASK")
    metric = find_metric(asked, numbers if task == "regression" else binary)
    sentence = words.sentence(row(metric=metric.name, class_name=metric.class_name))
    assert sentence.startswith(f"{HEADLINES[asked]} ")
    assert sentence.endswith(" %)." if " % of items" in sentence else " 0.082).")


@pytest.mark.parametrize("estimate", [0.09996, 0.1, 0.10004])
def test_percentages_show_on_which_side_of_the_threshold_a_gate_s_estimate_is(gate, estimate):
    sentence = words.sentence(gate(estimate=estimate, lower=0.05, upper=0.15))
    shown = float(sentence.removeprefix("The model is wrong on ").split()[0])
    assert (shown > 10, shown < 10) == (estimate > 0.1, estimate < 0.1)


@pytest.mark.parametrize(
    ("changes", "written"),
    [
        ({}, "as good as about 118 random labels (3.1x)"),
        ({"n_answers": 380}, "as good as about 118 random labels (0.31x)"),
        ({"n_eff": 9.0, "n_answers": 20}, "as good as about 9 random labels (0.45x)"),
        ({"n_eff": 1.2, "n_answers": 40}, "as good as about 1 random label (0.03x)"),
        ({"n_eff": 0.3, "n_answers": 40}, "as good as about 0 random labels (0.01x)"),
        # It is never a promise: a variance that is held up may still be too small.
        ({"variance_inflated": True}, "as good as about 118 random labels (3.1x)"),
        ({"variance_inflated": True, "n_eff": 9.0}, "as good as about 9 random labels (0.24x)"),
        ({"n_eff": None, "too_early": True}, "too early to say what was saved"),
        ({"n_eff": None}, ""),
    ],
)
def test_labels_saved_are_said_also_when_they_are_bad_news(row, changes, written):
    assert words.labels_saved(row(**changes).quantity.saving) == written


def test_a_shrunk_value_is_not_written_more_precisely_than_it_is_known(row):
    assert words.shrunk(row(shrunk=0.06024)) == "0.060"
    without = {"estimate": None, "lower": None, "upper": None}
    assert words.shrunk(row(**without, shrunk=0.10864)) == "0.11"
    assert words.shrunk(row(**without, shrunk=5327.1)) == "5,327"
    assert words.shrunk(row(**without, shrunk=0.0)) == "0"
    assert words.shrunk(row(**without)) == "-"


def test_an_estimate_without_an_interval_says_why(row):
    bare = row(
        estimate=0.05312, lower=None, upper=None, method="none", reason="the loss has no bound"
    )
    assert words.sentence(bare) == (
        "The model is wrong on 5.312 % of items (no interval: the loss has no bound)."
    )
    assert words.interval_or_reason(bare) == "the loss has no bound"


def test_what_a_surrogate_says_of_itself_stands_beside_its_name(report):
    assert words.made_by(report()) == (
        "Items are drawn where the surrogate (agreement) expects most to learn about error "
        "(acquisition optimal, floor 0.35, seed 7)."
    )
    stacked = replace(report(), surrogate="stack", surrogate_note="agreement 74 %, external 26 %")
    assert words.made_by(stacked).startswith(
        "Items are drawn where the surrogate (stack: agreement 74 %, external 26 %) expects most"
    )
    assert json.loads(as_json.render(stacked))["surrogate_note"] == "agreement 74 %, external 26 %"


def test_what_a_surrogate_listens_to_stands_in_every_format(report):
    sources = ("the model's confidence", "64 features", "4 other models")
    with_sources = replace(report(), surrogate="auto", auxiliary_outputs=sources)
    sentence = f"The surrogate listens to: {', '.join(sources)}."
    for render in (text.render, markdown.render, html.render, partial(text.render, verbose=True)):
        shown = " ".join(render(with_sources).replace("&#x27;", "'").replace("&#39;", "'").split())
        assert shown.count(sentence) == 1
        assert "listens to" not in render(report())
    assert json.loads(as_json.render(with_sources))["auxiliary_outputs"] == list(sources)
    assert json.loads(as_json.render(report()))["auxiliary_outputs"] == []


@pytest.mark.parametrize(
    ("changes", "written"),
    [
        (
            {"acquisition": "uniform", "floor": 1.0},
            "Items are drawn at random; the surrogate (agreement) does not choose them "
            "(acquisition uniform, floor 1, seed 7).",
        ),
        (
            {"floor": 1.0},
            "Items are drawn at random; the surrogate (agreement) does not choose them "
            "(acquisition optimal, floor 1, seed 7).",
        ),
        (
            {"acquisition": "entropy", "power": 2.0},
            "Items are drawn by the scores of the surrogate (agreement) for error "
            "(acquisition entropy, power 2, floor 0.35, seed 7).",
        ),
        (
            {"selection": "top"},
            "Items with the largest scores for error by the surrogate (agreement) are taken "
            "(acquisition optimal, seed 7).",
        ),
    ],
)
def test_how_items_are_chosen_is_a_sentence(report, changes, written):
    assert words.made_by(replace(report(), **changes)) == written


def test_estimators_are_explained_where_there_are_several(report, row):
    assert words.describe_estimators(report(row(), row(metric="f1"))) == ""
    assert words.describe_estimators(report(row(estimator="iid"), row(estimator="ase"))) == (
        "iid: the plain mean of the draws; ase: the surrogate's own view, without a guarantee"
    )


def test_what_numbers_are_about_names_the_setting_of_the_other_report(report, row):
    def scope(*, hints=True, **changes) -> str:
        return words.scope(replace(report(), **changes), row(), hints=hints)

    assert scope() == "the 1,497 items of this pool"
    both = scope(population_setting="`population=True`")
    assert both == "the 1,497 items of this pool (`population=True`: future ones too)"
    assert (
        scope(hints=False, population_setting="`population=True`") == "the 1,497 items of this pool"
    )
    sampled = scope(population=True, cluster="user")
    assert sampled == "the population that the 1,497 items are a sample of, by user"


def test_exact_numbers_say_whether_every_answer_is_known(row):
    exact = {"method": "exact", "lower": 0.0531, "upper": 0.0531, "n_pool": 40}
    assert words.sentence(row(**exact, n_labeled=40)).endswith("(exact: every answer is known).")
    some = words.sentence(row(**exact, n_labeled=38))
    assert some.endswith("(exact: no further label can change it).")


def test_the_class_stands_in_the_brackets_that_a_metric_has(row):
    for name, title in (("recall", "recall[a]"), ("precision-at-k[50]", "precision-at-k[50,a]")):
        record = row(metric=name, class_name="a")
        assert words.metric(record) == record.title == title


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((10, 10, 0), ""),
        ((10, 7, 3), " Of 10 bins, 3 hold no item, and are left out."),
        ((15, 9, 2), " Of 15 bins, 2 hold no item and 4 have too few labels, and are left out."),
        ((15, 11, 0), " Of 15 bins, 4 have too few labels, and are left out."),
    ],
)
def test_bins_that_are_left_out_are_said(counts, said):
    assert words.describe_left_out(*counts) == said
