"""Two logs of one benchmark are two models: the pool is one of them, and may have a name."""

from pathlib import Path

from activetest.study.stored import StoredStudy
from activetest.study.study import Study
from tests.formats import logs


def write_evals(right: dict[str, int], size: int) -> dict[str, str]:
    """A log of each model, which is right where the number of a sample is no multiple."""
    for name, every in right.items():
        samples = [
            logs.inspect_sample(number, "C" if number % every else "I")
            for number in range(size - (name == "b"))
        ]
        logs.write_eval(Path(f"{name}.eval"), samples)
    return {name: f"{name}.eval" for name in right}


def test_a_log_that_is_the_pool_and_a_model_gives_its_outputs_a_name(folder):
    models = write_evals({"a": 3, "b": 5}, 30)
    study = Study.create("a.eval", seed=1, models=models, common=True)
    assert [each.name for each in StoredStudy.open().list_models()] == ["a", "b"]
    assert "1 item left out, which not all models have" in study.setup.notices
    study.ingest(dict.fromkeys(study.next(12).ids, "1"))
    assert study.report(reference="a").estimates and study.verify().passed


def test_lines_of_a_harness_are_models_of_a_pool_of_their_questions(folder):
    samples = {
        name: [logs.lm_eval_line(each, exact_match=float(each % 3 > 0)) for each in range(20)]
        for name in ("a", "b")
    }
    for name, lines in samples.items():
        logs.write_lines(Path(f"samples_{name}.jsonl"), lines)
    models = {name: f"samples_{name}.jsonl" for name in samples}
    study = Study.create("samples_a.jsonl", seed=1, models=models)
    assert [each.name for each in StoredStudy.open().list_models()] == ["a", "b"]
    assert "b: its outputs are those of a: both models are the same" in study.setup.notices
