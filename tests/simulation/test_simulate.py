"""Simulation replays the program itself against a pool whose labels are all known."""

from pathlib import Path

import numpy as np
import pytest

from activetest.errors import ChoiceError, LabelError
from activetest.pool.pool import Pool
from activetest.simulation import simulate as simulations
from activetest.simulation.simulate import simulate

SAMPLES = Path(__file__).parents[2] / "sample_data"
DIGITS, KEY = SAMPLES / "digits.parquet", SAMPLES / "digits.labels.csv"


def digits(**options):
    settings = {"metrics": ("error",), "workers": 1} | options
    return simulate(Pool.open(str(DIGITS)), KEY, **settings)


@pytest.fixture(scope="module", params=[20, pytest.param(80, marks=pytest.mark.ci)])
def played(request):
    """So many studies of 100 labels with every estimator, by acquisition and estimator."""
    results = digits(budgets=(100,), runs=request.param, seed=3)
    return {(one.acquisition, one.estimator): one for one in results}


def test_the_default_saves_labels_and_its_interval_covers(played):
    one = played["optimal", "doubly-robust"]
    # Of 80 studies it is 2.7, and its logarithm has a standard error of 0.14.
    assert one.mse_ratio > 1.6
    assert one.coverage > 0.95 - 3 * (0.95 * 0.05 / one.runs) ** 0.5


def test_uniform_draws_have_the_error_of_the_closed_form(played):
    one = played["uniform", "iid"]
    assert abs(one.mse_ratio - 1) < 4 * one.mse_ratio_se
    assert abs(one.bias) < 4 * one.rmse / one.runs**0.5


def test_what_the_surrogate_saves_alone_stands_beside_what_active_draws_add(played):
    """Uniform draws with the doubly robust estimate; nothing for what no surrogate corrects."""
    alone = played["uniform", "doubly-robust"]
    assert alone.surrogate_mse_ratio == alone.mse_ratio
    assert played["optimal", "doubly-robust"].surrogate_mse_ratio == alone.mse_ratio
    assert played["optimal", "doubly-robust"].mse_ratio > alone.mse_ratio
    others = [one for (_, estimator), one in played.items() if estimator != "doubly-robust"]
    assert others and all(one.surrogate_mse_ratio is None for one in others)
    [active] = digits(
        budgets=(20,), runs=2, acquisition=("optimal",), estimators=("doubly-robust",)
    )
    assert active.surrogate_mse_ratio is None


def test_the_plain_mean_is_not_offered_for_active_draws(played):
    assert ("optimal", "iid") not in played


def test_estimates_by_draws_are_unbiased(played):
    for (_, estimator), one in played.items():
        if estimator != "ase":
            assert abs(one.bias) < 4 * one.rmse / one.runs**0.5


def test_metrics_of_several_means_are_measured_against_uniform_draws_of_their_own():
    """Uniform draws without a surrogate are the yardstick itself: nothing saved, nothing lost."""
    results = digits(
        budgets=(100,),
        runs=20,
        metrics=("f1[3]", "balanced-accuracy"),
        surrogate="model",
        acquisition=("uniform",),
        estimators=("lure",),
    )
    assert [one.metric for one in results] == ["f1[3]", "balanced-accuracy"]
    for one in results:
        assert one.runs == 20
        assert abs(one.mse_ratio - 1) < 4 * one.mse_ratio_se
        assert 0.4 < one.labels_saved < 2.5


def test_a_budget_of_0_is_what_the_surrogate_says_before_any_label():
    """Every study says the same, and there are no uniform draws to compare it with."""
    found = digits(budgets=(0, 20), runs=3, estimators=("ase", "lure"), acquisition="uniform")
    assert [(one.budget, one.estimator) for one in found] == [(0, "ase"), (20, "ase"), (20, "lure")]
    before, after = found[0], found[1]
    assert before.n_labeled == 0 and before.rmse == pytest.approx(abs(before.bias))
    assert np.isnan([before.mse_ratio, before.uniform_mse]).all()
    assert np.isfinite([after.mse_ratio, after.uniform_mse]).all()


def test_a_kind_of_interval_can_be_asked_for():
    """The same draws where they are uniform; what holds at every look is wider."""
    options = {"budgets": (30,), "runs": 4, "acquisition": ("uniform",)}
    options["estimators"] = ("doubly-robust",)
    fixed, anytime = (digits(interval=kind, **options)[0] for kind in ("fixed", "anytime"))
    assert fixed.rmse == anytime.rmse
    assert fixed.width < anytime.width


def test_same_seed_same_results_whatever_the_workers():
    options = {"budgets": (20,), "runs": 6, "seed": 1, "estimators": ("doubly-robust", "ase")}
    assert digits(workers=1, **options) == digits(workers=2, **options)


def test_another_seed_is_another_simulation():
    options = {"budgets": (20,), "runs": 4}
    assert digits(seed=1, **options) != digits(seed=2, **options)


def test_progress_ends_at_the_total():
    seen = []
    digits(budgets=(20,), runs=4, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (8, 8)


def test_a_key_with_gaps_is_an_error(tmp_path):
    short = tmp_path / "key.csv"
    short.write_text("".join(KEY.read_text().splitlines(keepends=True)[:-3]))
    with pytest.raises(LabelError, match="has no label for 3 of 1497 items"):
        simulate(Pool.open(str(DIGITS)), short)


def test_a_key_of_another_pool_is_an_error(tmp_path):
    with pytest.raises(LabelError, match="is not in the pool"):
        simulate(Pool.open(str(DIGITS)), SAMPLES / "diabetes.labels.csv")


def test_standard_input_is_no_key():
    with pytest.raises(LabelError, match="no file of labels"):
        simulate(Pool.open(str(DIGITS)), "-")


def test_choices_that_make_no_sense_are_errors():
    with pytest.raises(ChoiceError, match="a simulation needs"):
        digits(runs=1)
    with pytest.raises(ChoiceError, match="more than the pool's 1497"):
        digits(budgets=(2000,))
    with pytest.raises(ChoiceError, match="no acquisition is called 'best'"):
        digits(acquisition=("best",))


def test_regression_pools_are_simulated_too():
    results = simulate(
        Pool.open(str(SAMPLES / "diabetes.parquet")),
        SAMPLES / "diabetes.labels.csv",
        budgets=(60,),
        runs=20,
        workers=1,
        estimators=("doubly-robust",),
        acquisition=("optimal",),
        metrics=("mse", "rmse", "mae", "bias"),
    )
    assert [one.metric for one in results] == ["mse", "rmse", "mae", "bias"]
    for one in results:
        assert one.coverage > 0.95 - 4 * (0.95 * 0.05 / one.runs) ** 0.5


def test_a_class_that_hard_labels_never_predict_is_simply_wrong(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    called = ["cat", "dog"] * 15
    pq.write_table(pa.table({"id": list(range(30)), "pred": called}), tmp_path / "pool.parquet")
    key = tmp_path / "key.csv"
    lines = [f"{row},{'owl' if row < 6 else label}" for row, label in enumerate(called)]
    key.write_text("\n".join(["id,label", *lines]) + "\n")
    (one,) = simulate(
        Pool.open(str(tmp_path / "pool.parquet")),
        key,
        budgets=(30,),
        runs=2,
        workers=1,
        metrics=("error",),
        acquisition=("optimal",),
        estimators=("doubly-robust",),
    )
    # Everything is labelled: the estimate is the truth, 6 of 30.
    assert (one.rmse, one.coverage) == (0, 1)


def test_true_losses_without_a_floor_leave_no_error_and_few_ways_to_read_them():
    """Active Testing, Fig. 8 (a): `lure` of the loss itself, and what promises nothing."""
    ways = {"acquisition": "oracle", "floor": 0.0, "metrics": ("error", "log-loss")}
    names = ("lure", "doubly-robust", "naive", "ase")
    found = digits(**ways, estimators=names, budgets=(40, 120), runs=3)
    read = {(each.metric, each.estimator, each.budget): each for each in found}
    assert {(metric, name) for metric, name, _ in read} == {
        ("error", "lure"),
        *((metric, name) for metric in ("error", "log-loss") for name in ("naive", "ase")),
    }
    for budget in (40, 120):
        best = read["error", "lure", budget]
        assert best.rmse == best.bias == 0 and best.mse_ratio == np.inf
        assert best.coverage == 1 and best.width < 0.2
    assert read["error", "naive", 40].bias > 0.9


def test_true_losses_without_a_floor_are_refused_for_metrics_of_several_means(monkeypatch):
    """An item that does not move the metric is still part of its means."""
    # Uniform draws, which are simulated before, are not asked about.
    monkeypatch.setattr("activetest.simulation.baseline._RUNS", 10)
    ways = {"acquisition": "oracle", "floor": 0.0, "metrics": ("f1[3]",), "runs": 2}
    with pytest.raises(ChoiceError, match="could never be drawn"):
        digits(**ways, budgets=(20,))
    with pytest.raises(ChoiceError, match="no estimate by lure exists"):
        digits(**ways | {"metrics": ("auroc[3]",)}, budgets=(20,), estimators="lure")


def test_a_strategy_is_every_way_to_draw_once():
    """Uniform draws have no power, top scores neither."""
    results = digits(
        budgets=(10,),
        runs=2,
        acquisition=("optimal", "uniform"),
        selection=("draw", "top"),
        power=(1.0, 2.0),
        estimators=("lure", "ase"),
    )
    assert [(one.acquisition, one.selection, one.power, one.estimator) for one in results] == [
        ("optimal", "draw", 1.0, "lure"),
        ("optimal", "draw", 1.0, "ase"),
        ("optimal", "draw", 2.0, "lure"),
        ("optimal", "draw", 2.0, "ase"),
        ("optimal", "top", 1.0, "ase"),
        ("uniform", "draw", 1.0, "lure"),
        ("uniform", "draw", 1.0, "ase"),
    ]


def test_draws_that_leave_nothing_to_estimate_are_an_error():
    options = {"budgets": (10,), "runs": 2, "acquisition": ("optimal",)}
    with pytest.raises(ChoiceError, match="no estimate by lure exists"):
        digits(selection=("top",), estimators=("lure",), **options)


def test_medians_and_quartiles_are_those_of_the_runs(played):
    """Of squared errors, whose mean is above their median; uniform ones like the simulated."""
    for one in played.values():
        assert one.quartiles[0] <= one.median <= one.quartiles[1]
        assert one.uniform_mse == pytest.approx(one.mse_ratio * one.rmse**2)
    assert sum(one.median for one in played.values()) < sum(one.rmse**2 for one in played.values())
    uniform = played["uniform", "iid"]
    assert 1 / 3 < uniform.median / uniform.uniform_median < 3


def test_a_surrogate_that_learns_seldom_is_another_strategy():
    options = {"budgets": (30,), "runs": 2, "estimators": ("lure",)}
    every, seldom = (digits(refit=refit, **options) for refit in ("every", "20"))
    assert {one.refit for one in seldom} == {"20"}
    assert every[0].rmse != seldom[0].rmse
    # The first round knows no labels, whatever the schedule.
    first = {"budgets": (10,), "runs": 2, "estimators": ("lure",)}
    rmse = [digits(refit=refit, **first)[0].rmse for refit in ("every", "20")]
    assert rmse[0] == rmse[1]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"budgets": "10"}, "`budgets` is '10'"),
        ({"budgets": [10, 2.5]}, "`budgets` is 2.5"),
        ({"budgets": []}, "budgets of 2, or more"),
        ({"budgets": [1, 20]}, "budgets of 2, or more"),
        ({"budgets": [0, -1]}, "budgets of 2, or more"),
        ({"budgets": 0, "estimators": "lure"}, "no estimate by lure exists"),
        ({"runs": "many"}, "`runs` is 'many'"),
        ({"batch": None}, "`batch` is None"),
        ({"seed": True}, "`seed` is True"),
        ({"seed": -1}, "`seed=-1` is negative"),
        ({"workers": 1.0}, "`workers` is 1.0"),
        ({"workers": 0}, "0 workers"),
        ({"interval": 3}, "`interval` is 3"),
        ({"interval": "sequential"}, "a simulation has no gates"),
    ],
)
def test_numbers_that_are_none_are_errors(options, problem):
    with pytest.raises(ChoiceError, match=problem) as caught:
        digits(**options)
    assert caught.value.hint


def test_numbers_may_be_those_of_numpy():
    options = {"runs": 2, "acquisition": "uniform", "estimators": "iid"}
    plain = digits(budgets=[10, 20], seed=3, **options)
    assert digits(budgets=np.array([10, 20]), seed=np.int64(3), **options) == plain
    assert [each.budget for each in plain] == [10, 20]


@pytest.mark.parametrize("name", ["metric", "budget", "annotators"])
def test_settings_of_studies_alone_are_refused(name):
    with pytest.raises(ChoiceError, match=f"`{name}` is no setting of a simulation"):
        digits(**{name: None})


def test_information_about_metrics_is_summed_over_all_that_are_named(monkeypatch):
    """As in a study; other acquisitions aim at the first, and so do all where one is named."""
    played = {}

    def note(built, truth, plan, choices, seeds):
        played[choices.acquisition] = choices.metric, choices.also
        return run_together(built, truth, plan, choices, seeds)

    run_together = simulations.run_together
    monkeypatch.setattr(simulations, "run_together", note)
    ways = {"surrogate": "linear", "augment": "none", "estimators": ("doubly-robust",)}
    ways |= {"budgets": 4, "batch": 4, "runs": 2}
    both = {"acquisition": ("metric-information", "bald")}
    digits(metrics=("accuracy", "precision[2]", "recall[*]"), **ways, **both)
    classes = tuple(f"recall[{code}]" for code in range(10))
    assert played == {
        "metric-information": ("accuracy", ("precision[2]", *classes)),
        "bald": ("accuracy", ()),
    }
    digits(metrics=("accuracy", "precision[2]"), aim="recall[3]", **ways, **both)
    assert set(played.values()) == {("recall[3]", ())}
    digits(metrics=(), **ways, acquisition="metric-information")
    assert played["metric-information"] == ("error", ())
