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
    ("text", "parts"),
    [
        ("error(part=week1)", ("week1",)),
        ("error(part=week2) - error( part = week1 )", ("week2", "week1")),
    ],
)
def test_brackets_may_name_a_part_of_the_population(text, parts):
    assert parse_expression(text) == Expression("error", parts=parts)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("error(v2)-accuracy(v1)", "another metric"),
        ("error(v2)-error(v2)", "from itself"),
        ("error(week=1)", "only `model` and `part` are known"),
        ("error(part=week1)-error(v2)", "a part and a model"),
        ("error(part=)", "names no part"),
        ("error()", "names no model"),
        ("error(model=)", "names no model"),
    ],
)
def test_other_expressions_are_refused_with_a_hint(text, problem):
    with pytest.raises(ChoiceError, match=problem) as found:
        parse_expression(text)
    assert found.value.hint
