"""Auto listens to all the evidence there is, and is agreement where there is none."""

import json
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from pytest import approx

from activetest import catalog
from activetest.item_statistics.defaults import CLASSIFICATION, STATISTICS
from activetest.item_statistics.outcomes import right_and_wrong
from activetest.item_statistics.statistic import statistic
from activetest.ledger.arrays import split_params
from activetest.nouns.beliefs import moments
from activetest.nouns.rows import Outputs
from activetest.surrogates import agreement, auto
from activetest.surrogates._right_or_wrong import restore_kernel

NAMES = STATISTICS[CLASSIFICATION]
ASKED = (*map(statistic, NAMES), statistic("fp:1"), statistic("cell:2:0"))


@pytest.fixture
def pool(class_pool):
    """pool(size=600, seed=1): that of class_pool, whose design begins with the confidence."""

    def make(size: int = 600, seed: int = 1):
        made = class_pool(size, seed)
        confidence = made.rows.outputs.confidence.astype(float)
        logit = np.log(confidence / (1 - confidence)).astype(np.float32)
        design = np.column_stack([logit, made.rows.features])
        made.rows = replace(made.rows, design=design)
        return made

    return make


def without(made, *parts: str):
    """The same pool without its features, or what other models say."""
    empty: dict = dict.fromkeys(parts)
    if "features" in parts:
        empty["design"] = made.rows.design[:, : made.rows.outputs.probs is not None]
    made.rows = replace(made.rows, **empty)
    return made


def fit(training, seed: int = 0) -> agreement.Agreement:
    return auto.fit(training, rng=np.random.default_rng(seed))


def hard(made):
    """The same pool with predicted classes alone, as rows of a pool of verdicts are."""
    outputs = Outputs(made.rows.outputs.pred)
    right = right_and_wrong(outputs, ("zero_one",))
    parts = dict(zip(("right", "wrong", "spread"), right, strict=True))
    design = np.empty((len(made.labels), 0), np.float32)
    made.rows = replace(made.rows, outputs=outputs, design=design, **parts)
    return made


def log_loss(surrogate, made, rest: slice) -> float:
    """Mean log-loss of what is believed about right and wrong."""
    wrong = surrogate.expected(made.rows[rest], ASKED[:1])[0]
    was = made.labels[rest] != made.rows.outputs.pred[rest]
    return float(-np.log(np.where(was, wrong, 1 - wrong)).mean())


# --- what it is without evidence


@pytest.mark.parametrize("count", [0, 5, 60])
def test_without_evidence_it_is_agreement_to_the_last_bit(pool, count):
    """Two classes of a confidence alone: the kernel could add nothing."""
    made = without(pool(), "features", "external")
    probs = made.rows.outputs.probs[:, :2] / made.rows.outputs.probs[:, :2].sum(1, keepdims=True)
    outputs = Outputs(probs.argmax(axis=1), probs)
    made.rows = replace(made.rows, outputs=outputs)
    made.labels, made.classes = made.labels % 2, 2
    training = made.training(count)
    ours, plain = fit(training), agreement.fit(training)
    for members in (None, 7):
        drawn = [
            None if members is None else each.draw_members(members, np.random.default_rng(1))
            for each in (ours, plain)
        ]
        found, expected = (
            each.beliefs(made.rows, ASKED[:1], which)
            for each, which in zip((ours, plain), drawn, strict=True)
        )
        assert (found.probs == expected.probs).all()
        assert members is None or (found.draws == expected.draws).all()


@pytest.mark.parametrize("count", [0, 60])
def test_hard_labels_without_features_are_agreement_too(pool, count):
    made = without(hard(pool()), "features", "external")
    training = replace(made.training(count), shares=np.array([0.5, 0.3, 0.2]))
    ours, plain = (
        each.expected(made.rows, ASKED[:1]) for each in (fit(training), agreement.fit(training))
    )
    assert (ours == plain).all()


def test_it_learns_without_scikit_learn(pool, monkeypatch):
    """Loading the library takes longer than all the rest of a round."""
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    assert fit(pool().training(30, train=True)).evidence.names == ("training rows", "other models")


# --- what it learns


def test_another_model_that_knows_better_is_believed_soon(pool):
    made = without(pool(1200), "features")
    training, rest = made.training(40), slice(40, None)
    ours, plain = fit(training), agreement.fit(training)
    assert log_loss(ours, made, rest) < log_loss(plain, made, rest) - 0.02


def test_features_help_and_training_rows_help_more(pool):
    made = without(pool(300), "external")
    rest = slice(60, None)
    features, trained = (fit(made.training(60, train=each)) for each in (False, True))
    plain = log_loss(agreement.fit(made.training(60)), made, rest)
    assert log_loss(features, made, rest) < plain
    assert log_loss(trained, made, rest) < plain - 0.02


def test_nothing_is_certain(pool):
    made = pool(300)
    surrogate = fit(made.training(200))
    wrong = surrogate.expected(made.rows, ASKED[:1])[0]
    assert 1e-4 - 1e-9 <= wrong.min() < wrong.max() <= 1 - 1e-4


def test_other_models_say_which_class_it_is_instead(pool):
    """Three models know the truth, or none does: errors tell."""
    made = without(pool(400), "features")
    truth = np.eye(3, dtype=np.float32)[made.labels]
    trusts = []
    for said in (truth, truth[:, [1, 2, 0]]):
        made.rows = replace(made.rows, external=np.repeat(said[:, None], 3, axis=1))
        for count in (0, 30):
            surrogate = fit(made.training(count))
            trusts.append(surrogate.trust)
            wrong = np.flatnonzero(made.labels != made.rows.outputs.pred)
            probs = surrogate.error_class_probs(made.rows)
            assert probs.sum(axis=0) == approx(1.0, abs=1e-5)
            assert (probs[made.rows.outputs.pred, np.arange(400)] == 0).all()
            plain = agreement.fit(made.training(count)).error_class_probs(made.rows)
            found, expected = (each[made.labels[wrong], wrong].mean() for each in (probs, plain))
            assert (found > expected) == (said is truth)
    assert trusts == [0.5, approx(1.0, abs=0.01), 0.5, approx(0.0, abs=0.01)]


# --- rounds


FORGED = {
    "share": lambda share: share * np.nan,
    "length": lambda length: length * 0,
    "landmarks": lambda inputs: inputs[:-1],
    "inputs": lambda inputs: inputs[:, 1:],
    "weights": lambda weights: weights * np.inf,
    "mode": lambda mode: mode[1:],
    "curvature": lambda curvature: -1 - curvature,
    "deviations": lambda deviations: deviations * 0,
}


@pytest.mark.parametrize("name", FORGED)
def test_a_stored_kernel_that_nobody_fitted_is_refused(name):
    parts = {
        "share": 0.5,
        "length": 2.0,
        "landmarks": np.ones((3, 2), np.float32),
        "weights": np.ones(3),
        "mode": np.ones(4),
        "inputs": np.ones((3, 4), np.float32),
        "curvature": np.ones(3),
        "deviations": np.ones(4),
    }
    params = {f"kernel.{each}": value for each, value in parts.items()}
    assert restore_kernel(params) is not None
    with pytest.raises(ValueError, match="a kernel|of a kernel"):
        restore_kernel(params | {f"kernel.{name}": FORGED[name](parts[name])})


@pytest.mark.parametrize(
    "forge",
    [
        lambda params: {"trust": 1.5},
        lambda params: {"trust": np.nan},
        lambda params: {"covariance": [[1.0]]},
        lambda params: {"mode": params["mode"][1:], "covariance": np.eye(len(params["mode"]) - 1)},
    ],
)
def test_a_stored_posterior_that_does_not_fit_is_refused(pool, forge):
    made = without(pool(300), "external")
    params = fit(made.training(60, statistics=NAMES)).params()
    kernel = {
        "share": 0.5,
        "length": 2.0,
        "landmarks": np.ones((3, 2), np.float32),
        "weights": np.ones(3),
        "mode": np.ones(len(params["mode"])),
        "inputs": np.ones((3, len(params["mode"])), np.float32),
        "curvature": np.ones(3),
        "deviations": np.ones(len(params["mode"])),
    }
    params |= {f"kernel.{each}": value for each, value in kernel.items()}
    assert auto.restore(params).kernel is not None
    with pytest.raises(ValueError, match="does not fit|no share"):
        auto.restore(params | forge(params))


CASES = [(0, False), (60, True)]


@pytest.mark.parametrize(("count", "train"), CASES)
def test_what_is_restored_believes_the_same_to_the_last_bit(pool, count, train):
    made = pool(300)
    surrogate = fit(made.training(count, train=train, statistics=NAMES))
    plain, arrays = split_params(surrogate.params())
    restored = auto.restore({**json.loads(json.dumps(plain)), **arrays})
    members = [each.draw_members(6, np.random.default_rng(3)) for each in (surrogate, restored)]
    for ask in (
        lambda each, which: each.expected(made.rows, ASKED),
        lambda each, which: each.beliefs(made.rows, ASKED, which).draws,
        lambda each, which: np.concatenate(each.totals(made.rows, which, ASKED)),
    ):
        found, again = (ask(*pair) for pair in zip((surrogate, restored), members, strict=True))
        assert (found == again).all()


def test_beliefs_do_not_depend_on_chunks(pool):
    made = pool(300)
    surrogate = fit(made.training(60, train=True))
    whole = surrogate.expected(made.rows, ASKED)
    parts = [
        surrogate.expected(made.rows[start : start + 37], ASKED) for start in range(0, 300, 37)
    ]
    assert np.hstack(parts) == approx(whole, rel=1e-5)


def test_members_scatter_about_what_is_believed_and_sum_to_their_totals(pool):
    made = without(pool(400), "external")
    surrogate = fit(made.training(60, statistics=NAMES))
    assert surrogate.kernel is not None
    surrogate = replace(surrogate, kernel=replace(surrogate.kernel, share=0.5))
    members = surrogate.draw_members(400, np.random.default_rng(0))
    assert len(members) == 400
    assert len(members.columns) == 200
    beliefs = surrogate.beliefs(made.rows, ASKED, members)
    assert beliefs.draws.shape == (400, 400, 2)
    assert np.abs(beliefs.draws.mean(axis=0) - beliefs.probs).mean() < 0.05
    assert (beliefs.draws.std(axis=0) > 0.003).all()
    for count in (3, 8):
        few = surrogate.draw_members(count, np.random.default_rng(1))
        draws = surrogate.beliefs(made.rows, ASKED, few).draws
        each = [moments(replace(beliefs, probs=one)) for one in draws]
        for found, expected in zip(
            surrogate.totals(made.rows, few, ASKED), zip(*each, strict=True), strict=True
        ):
            assert found == approx(np.stack(expected).sum(axis=2), rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("known", ["nothing", "features"])
def test_sets_that_are_fitted_together_do_not_see_each_other(pool, known):
    """Without any evidence, as agreement does it; with some, one by one."""
    made = pool(100)
    if known == "nothing":
        made = without(hard(made), "features", "external")
    training = made.training(60, statistics=() if known == "nothing" else NAMES)
    together = auto.fit_together(training, [20, 0, 40])
    parts = (slice(0, 20), slice(20, 20), slice(20, 60))
    for each, part in zip(together, parts, strict=True):
        alone = fit(
            replace(
                training,
                rows=training.rows[part],
                labels=training.labels[part],
                stats=training.stats[part],
            )
        )
        np.testing.assert_array_equal(each.mode, alone.mode)
        assert each.evidence == alone.evidence
        assert each.evidence.labels == part.stop - part.start


def test_the_file_says_what_it_uses():
    facts = ("USES_EVIDENCE", "USES_OTHER_MODELS", "SAW_FEATURES")
    assert all(catalog.fact("surrogates", "auto", fact) for fact in facts)


def test_rows_must_have_what_the_kernel_goes_by(pool):
    with pytest.raises(ValueError, match="neither features nor probabilities"):
        agreement.require_inputs(without(hard(pool(20)), "features").rows)


# --- what learners of the model's answers say


def with_answers(made, noise: float = 0.5):
    """Two columns: one that is lower where the model is wrong, and one that says nothing."""
    rng = np.random.default_rng(11)
    wrong = made.labels != made.rows.outputs.pred
    columns = rng.normal(np.column_stack([np.where(wrong, -2.0, 0.5), np.zeros(len(wrong))]), noise)
    made.rows = replace(made.rows, evidence=columns.astype(np.float32))
    return made


def test_columns_of_answers_are_believed_as_far_as_they_have_proven_themselves(pool):
    made = with_answers(without(pool(), "external"))
    few, many = (fit(made.training(count)) for count in (5, 200))
    said, nothing = many.mode[-2:]
    assert said > 0.5 > 3 * abs(nothing)
    assert 0 <= few.mode[-2] < said
    plain = replace(made.rows, evidence=None)
    rest = slice(300, None)
    better = log_loss(many, made, rest)
    made.rows = plain
    assert better < log_loss(fit(made.training(200)), made, rest) - 0.05


def test_beliefs_average_over_how_much_columns_of_answers_are_worth(pool):
    """MacKay's approximation: logits over the root of 1 + pi / 8 times their variance."""
    made = with_answers(without(pool(), "external"))
    one = replace(fit(made.training(8)), kernel=None)
    rows = made.rows[:50]
    logits = one.right_logits(rows, one.mode).astype(float)
    block = one.covariance[-2:, -2:]
    variance = [each @ block @ each for each in rows.evidence.astype(float)]
    expected = 1 / (1 + np.exp(logits / np.sqrt(1 + np.pi / 8 * np.array(variance))))
    assert one.wrong_probs(rows) == approx(expected, rel=1e-5)
    assert max(variance) > 0.05


@pytest.mark.parametrize("external", [False, True])
def test_one_with_columns_of_answers_is_restored(pool, external):
    made = with_answers(pool() if external else without(pool(), "external"))
    one = fit(made.training(80, statistics=NAMES))
    assert one.answers == 2
    again = auto.restore(restore_params(one))
    assert again.answers == 2
    found, expected = (each.beliefs(made.rows, ASKED[:1]) for each in (again, one))
    assert (found.probs == expected.probs).all()
    assert again.auxiliary_outputs[:2] == ("the model's confidence", "the features")


def restore_params(one: agreement.Agreement) -> dict:
    """Its parameters, as a study reads them again."""
    texts, arrays = split_params(one.params())
    return json.loads(json.dumps(texts)) | arrays


@pytest.mark.parametrize("answers", [-1, 40])
def test_more_columns_of_answers_than_coefficients_are_refused(pool, answers):
    made = with_answers(without(pool(), "external"))
    params = restore_params(fit(made.training(30, statistics=NAMES)))
    with pytest.raises(ValueError, match="effects do not fit"):
        auto.restore(params | {"answers": answers})


def test_another_pool_has_other_columns_of_answers(pool, monkeypatch):
    made = with_answers(without(pool(), "external"))
    one = fit(made.training(30))
    for evidence in (None, made.rows.evidence[:, :1]):
        other = SimpleNamespace(
            classes=made.classes * ("a",),
            statistics=one.learned,
            rows=lambda *piece, found=evidence: replace(made.rows, evidence=found),
        )
        with pytest.raises(ValueError, match="other evidence"):
            one.attach(other)


def test_columns_that_were_left_out_leave_the_surrogate_as_without_features(pool):
    """Neither components of the features nor a kernel have a say."""
    made = without(pool(), "external")
    made.rows = replace(made.rows, evidence=np.empty((len(made.labels), 0), np.float32))
    one = fit(made.training(100))
    assert one.kernel is None
    made.rows = replace(made.rows, evidence=None, design=made.rows.design[:, :1])
    plain = agreement.fit(made.training(100))
    assert one.mode == approx(plain.mode)
    assert one.auxiliary_outputs == ("the model's confidence",)
