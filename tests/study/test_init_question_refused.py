"""Tasks that make no sense: refused, with a hint, before anything is drawn."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.errors import ChoiceError, PoolChanged
from activetest.nouns.choices import Choices
from activetest.study.next import next_batch
from activetest.study.report import report
from activetest.study.stored import StoredStudy
from tests.makers import init


def chosen(**wishes) -> Choices:
    init("pool.parquet", seed=1, **wishes)
    return StoredStudy.open().choices


@pytest.mark.parametrize(
    ("wishes", "problem"),
    [
        ({"task": "identify"}, "no task is called 'identify'"),
        ({"question": "judge"}, "no question is called 'judge'"),
        ({"acquisition": "thompson"}, "asks no question about them"),
        ({"worst": 2}, "`worst` has no effect without a question"),
        ({"compare": "barn,tree"}, "`compare` has no effect without a question"),
        ({"rope": 0.1}, "`rope` has no effect without a question"),
        ({"prior": "uniform"}, "`prior` has no effect without a question"),
        ({"prior_strength": 3.0}, "`prior_strength` has no effect without a question"),
        ({"question": "identify", "rope": 0.1}, "`rope` has no effect on the question identify"),
        (
            {"question": "compare", "compare": "cat,dog", "rope": 1.0},
            "differ by more than 1 in acc",
        ),
        ({"question": "estimate", "worst": 2}, "`worst` has no effect on the question estimate"),
        ({"question": "identify", "worst": 4}, "`worst=4`: 'predicted' has 3 groups"),
        ({"question": "identify", "worst": 3}, "`worst=3`: 'predicted' has 3 groups"),
        ({"question": "identify", "worst": 0}, "worst is 0"),
        ({"question": "compare"}, "needs two values of 'predicted'"),
        ({"question": "compare", "compare": "cat"}, "'cat' is not two values of 'predicted'"),
        (
            {"question": "compare", "compare": "cat,cow"},
            "'cat,cow' is not two values of 'predicted'",
        ),
        ({"question": "compare", "compare": "cat,cat"}, "needs two values of 'predicted'"),
        ({"question": "identify", "compare": "cat,dog"}, "`compare` has no effect on the question"),
        ({"question": "identify", "metric": "f1"}, "groups by accuracy, error, ece, cost, and"),
        (
            {"question": "compare", "compare": "cat,dog", "metric": "f1"},
            "accuracy, error, cost, and",
        ),
        ({"question": "estimate", "metric": "f1"}, "ece, cost, confusion, and the metric is 'f1'"),
        ({"question": "estimate", "metric": ("confusion", "f1")}, "and the metric is 'f1'"),
        ({"question": "compare", "compare": "cat,dog", "metric": "ece[5]"}, "cannot be compared"),
        (
            {"question": "estimate", "metric": "confusion", "groups": ("place",)},
            "a confusion matrix is about predicted classes",
        ),
        ({"question": "identify", "metric": "cost"}, "needs a matrix of costs"),
        ({"question": "identify", "metric": "confusion"}, "a confusion matrix is no single number"),
        ({"question": "identify", "selection": "top"}, "neither a top"),
        ({"question": "identify", "power": 2.0}, "nor a power"),
        ({"question": "estimate", "acquisition": "bayes-ucb"}, "looks for the worst group"),
        ({"question": "estimate", "acquisition": "top-two-thompson"}, "looks for the worst group"),
        (
            {"question": "identify", "worst": 2, "acquisition": "top-two-thompson"},
            "one group, not 2",
        ),
        ({"question": "identify", "prior": "flat"}, "prior is 'flat'"),
        ({"question": "identify", "prior_strength": 0.0}, "prior_strength is 0"),
        ({"question": "identify", "prior_strength": 1e7}, "prior_strength is 10000000"),
        ({"question": "identify", "rope": -1.0}, "rope is -1"),
    ],
)
def test_what_makes_no_sense_changes_nothing(pool_file, folder, wishes, problem):
    with pytest.raises(ChoiceError) as caught:
        init(pool_file, **wishes)
    assert problem in str(caught.value)
    assert not (folder / ".activetest").exists()


def test_study_toml_is_held_to_the_same_rules(pool_file, folder):
    chosen(question="identify")
    path = folder / ".activetest" / "study.toml"
    path.write_text(path.read_text().replace("worst = 1", "worst = 3"))
    for ask in (lambda study: next_batch(study, 3), report):
        with pytest.raises(ChoiceError, match="`worst=3`: 'predicted' has 3 groups"):
            ask(StoredStudy.open())
    path.write_text(path.read_text().replace('"identify"', '"estimate"'))
    with pytest.raises(ChoiceError, match="study.toml.*no effect on the question estimate"):
        StoredStudy.open()


def test_a_group_that_is_not_there_is_named(pool_file, folder):
    chosen(question="identify", groups="place")
    path = folder / ".activetest" / "study.toml"
    whole = path.read_text()
    path.write_text('groups = ["nope"]'.join(whole.rsplit('groups = ["place"]', 1)))
    with pytest.raises(ChoiceError, match="'nope' is not a group of this study"):
        report(StoredStudy.open())
    path.write_text(whole.replace('groups = ["place"]', 'groups = ["nope"]'))
    with pytest.raises(PoolChanged, match="the pool has no column 'nope'"):
        report(StoredStudy.open())


def test_one_group_cannot_be_the_worst_of_all(folder):
    table = {"id": list("abcd"), "pred": ["cat", "dog"] * 2, "place": ["barn"] * 4}
    pq.write_table(pa.table(table), folder / "pool.parquet")
    with pytest.raises(ChoiceError, match="`worst=1`: 'place' has 1 group$") as caught:
        init("pool.parquet", question="identify", groups="place")
    assert caught.value.hint == "choose another for `groups`"


def test_hints_name_what_would_help(pool_file):
    for wishes, hint in (
        ({"compare": "cat,dog"}, "`question='compare'`"),
        ({"rope": 0.1}, "`question='compare'`"),
        ({"prior_strength": 5.0}, "`question='identify'`"),
        (
            {"question": "estimate", "metric": "confusion", "groups": "place"},
            "`groups=['predicted', 'place']`, or another `metric`",
        ),
        (
            {"question": "compare", "compare": "cat,dog", "metric": "ece"},
            "`question='identify'`, or compare by `metric='accuracy'`",
        ),
    ):
        with pytest.raises(ChoiceError) as caught:
            init(pool_file, **wishes)
        assert caught.value.hint == hint


def test_a_rope_is_narrower_than_costs_can_be_apart(pool_file, folder):
    lines = ["predicted,cat,dog,owl", "cat,0,4,4", "dog,4,0,4", "owl,4,4,0"]
    (folder / "costs.csv").write_text("\n".join(lines) + "\n")
    wishes = {"question": "compare", "compare": "cat,dog", "metric": "cost", "costs": "costs.csv"}
    with pytest.raises(ChoiceError, match="no two groups differ by more than 4 in cost"):
        init(pool_file, rope=4.0, **wishes)
    assert chosen(rope=3.5, **wishes).rope == 3.5


def test_values_that_are_predicted_have_no_groups_to_ask_about(folder):
    pq.write_table(pa.table({"id": ["a", "b"], "pred": [0.5, 1.5]}), folder / "pool.parquet")
    with pytest.raises(ChoiceError, match="this pool predicts values"):
        init("pool.parquet", question="identify")
