"""Metrics of several models, as they are written."""

import pytest

from activetest.errors import ChoiceError
from activetest.nouns.expression import Expression, parse_expression


@pytest.mark.parametrize(
    ("text", "metric", "models"),
    [
        ("error", "error", ()),
        ("log-loss", "log-loss", ()),
        ("recall[a (b)]", "recall[a (b)]", ()),
        ("error(v2)", "error", ("v2",)),
        ("error(model=v2)", "error", ("v2",)),
        ("error( model = v2 )", "error", ("v2",)),
        ("recall[a (b)](v2)", "recall[a (b)]", ("v2",)),
        ("f-beta[2,cat](v1.2-rc_1)", "f-beta[2,cat]", ("v1.2-rc_1",)),
        ("error(v2)-error(v1)", "error", ("v2", "v1")),
        (" log-loss(b) - log-loss(model=a) ", "log-loss", ("b", "a")),
    ],
)
def test_a_metric_is_followed_by_its_model_in_brackets(text, metric, models):
    found = parse_expression(text)
    assert (found.metric.strip(), found.models) == (metric, models)
    assert found == Expression(found.metric, models)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("error(v2)-accuracy(v1)", "another metric"),
        ("error(v2)-error(v2)", "from itself"),
        ("error(part=week1)", "only `model` is known"),
        ("error()", "names no model"),
        ("error(model=)", "names no model"),
    ],
)
def test_other_expressions_are_refused_with_a_hint(text, problem):
    with pytest.raises(ChoiceError, match=problem) as found:
        parse_expression(text)
    assert found.value.hint
