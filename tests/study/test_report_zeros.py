"""Studies of pools with zeros in columns that numbers are divided by."""

import numpy as np
import pyarrow as pa
import pytest

import activetest as at

SIZE = 60


def test_a_stack_survives_predictions_that_are_certain(folder):
    rng = np.random.default_rng(0)
    pred, std = rng.normal(size=SIZE), 0.05 + rng.uniform(size=SIZE)
    std[:6] = 0.0
    ids = [f"i{row}" for row in range(SIZE)]
    key = dict(zip(ids, pred + 0.3 * rng.normal(size=SIZE), strict=True))
    frame = pa.table({"id": ids, "pred": pred, "pred_std": std})
    study = at.Study.create(frame, "study", seed=1, surrogate="stack")
    for _ in range(4):
        study.ingest({id: float(key[id]) for id in study.next(10).ids})
    headline = study.report().headline
    assert headline.estimate > 0 and np.isfinite([headline.lower, headline.upper]).all()


@pytest.mark.parametrize("interval", ["anytime", "fixed"])
def test_a_gate_on_a_group_without_weight_is_undecided_and_leaves_the_others(folder, interval):
    rng = np.random.default_rng(0)
    score, group = rng.uniform(size=SIZE), np.repeat(["u", "z"], [40, 20])
    ids = [f"i{row}" for row in range(SIZE)]
    weight = np.where(group == "z", 0.0, rng.integers(1, 4, SIZE))
    frame = pa.table({"id": ids, "score": score, "g": group, "w": weight})
    study = at.Study.create(frame, "study", seed=1, groups=["g"], weight="w", metric="error")
    right = {id: int(each >= 0.5) for id, each in zip(ids, score, strict=True)}
    study.ingest({id: right[id] for id in study.next(30).ids})
    found = study.report(require=["error@g=z<=0.3", "error@g=u<=0.5"], interval=interval)
    empty, other = found.gates
    assert (empty.verdict, empty.estimate) == ("undecided", None)
    assert other.verdict == "pass"
