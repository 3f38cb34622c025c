"""Outputs of other models are believed as they are."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest.errors import ChoiceError
from activetest.surrogates import external


def test_probabilities_are_the_mean_of_the_members_whatever_the_labels(class_pool):
    pool = class_pool()
    for count in (0, 100):
        members = external.fit(pool.training(count)).members
        assert members.size == 2
        assert members.probs(pool.rows) == approx(pool.rows.external.mean(axis=1))


def test_members_are_the_columns(class_pool):
    pool = class_pool()
    draws = external.fit(pool.training(0)).members.draws(pool.rows, np.array([1, 0]))
    np.testing.assert_array_equal(draws[0], pool.rows.external[:, 1])
    np.testing.assert_array_equal(draws[1], pool.rows.external[:, 0])


def test_labels_teach_the_spread_around_the_values(value_pool):
    """The members are right but for noise of variance 0.04; before any label 0.25 is guessed."""
    pool = value_pool(2000)
    guess = external.fit(pool.training(0)).members.noise
    assert guess == approx(0.25 * pool.rows.outputs.pred.var())
    noise = external.fit(pool.training(2000)).members.noise
    assert noise == approx(0.04, rel=0.1)


def test_values_have_the_mean_of_the_members_and_their_variance_besides(value_pool):
    pool = value_pool()
    members = external.fit(pool.training(50)).members
    mean, variance = members.moments(pool.rows)
    values = pool.rows.external.astype(float)
    assert mean == approx(values.mean(axis=1))
    assert variance == approx(values.var(axis=1) + members.noise)
    means, noise = members.draws(pool.rows, np.arange(2))
    assert means == approx(values.T)
    assert noise == approx(members.noise)


def test_members_that_agree_with_every_label_are_never_certain(value_pool):
    pool = value_pool()
    exact = np.stack([pool.labels, pool.labels], axis=1)
    rows = replace(pool.rows, external=exact)
    training = replace(pool.training(100), rows=rows[:100])
    assert external.fit(training).members.noise > 0


@pytest.mark.parametrize("kind", ["classes", "values"])
def test_it_comes_back_from_its_parameters(class_pool, value_pool, kind):
    pool = class_pool() if kind == "classes" else value_pool()
    made = external.fit(pool.training(30))
    assert external.restore(made.params()) == made


def test_a_pool_without_such_columns_is_told_how_to_get_them(class_pool):
    pool = class_pool()
    training = pool.training(10)
    bare = replace(training, rows=replace(training.rows, external=None))
    with pytest.raises(ChoiceError) as refused:
        external.fit(bare)
    assert "surrogate_prob_*" in refused.value.hint
