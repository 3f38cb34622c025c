"""Meanings of the values of options, and options that come from the declarations."""

import inspect

import pytest

from activetest.cache import cache
from activetest.cli import formatter, options
from activetest.cli.app import main
from activetest.cli.report import split_gates
from activetest.errors import ChoiceError
from activetest.nouns import choices
from activetest.nouns.choices import DECLARATIONS
from activetest.nouns.declarations import Simulated
from activetest.system import engines
from activetest.system.engines import ray_tasks
from activetest.system.parallel import Threads

COMMANDS = {name: formatter.load_command(name) for name in formatter.COMMANDS}


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["error"], ("error",)),
        (["error,f1[macro]", "recall[fraud]"], ("error", "f1[macro]", "recall[fraud]")),
        (["f-beta[2,fraud],error"], ("f-beta[2,fraud]", "error")),
        (["recall[a,b],recall[c, d],error"], ("recall[a,b]", "recall[c, d]", "error")),
        (["recall[no, ma'am]"], ("recall[no, ma'am]",)),
        (["error, brier"], ("error", "brier")),
        (["recall[a,b"], ("recall[a", "b")),
        ([], None),
        (None, None),
    ],
)
def test_commas_in_brackets_do_not_separate_metrics(given, meant):
    assert options.split_metrics(given) == meant


class Recorded(Threads):
    """Threads that say what was done with them."""

    def __init__(self):
        super().__init__(1)
        self.passes, self.closed = 0, False

    def run(self, fn, pieces, total=None):
        self.passes += not self.closed
        return super().run(fn, pieces)

    def close(self):
        self.closed = True


def test_passes_of_a_command_run_on_its_engine_until_it_ends(folder, write_pool, monkeypatch):
    engine = Recorded()
    monkeypatch.setattr(engines, "make_engine", {"threads": engine}.__getitem__)
    monkeypatch.setattr(cache, "_CHUNK", 50)
    monkeypatch.setattr(cache, "_FEWEST", 1)
    write_pool(folder / "pool.parquet", 120)
    assert main(["init", "pool.parquet"]) == 0 and not engine.passes
    assert main(["next", "-n", "5", "-o", "batch.csv", "--engine", "threads"]) == 0
    passes = engine.passes
    assert passes and engine.closed
    engine.closed = False
    assert main(["report"]) == 0 and engine.passes == passes and not engine.closed


@pytest.mark.parametrize(
    ("name", "problem", "hint"),
    [
        ("spark", "no engine is called 'spark'", "choose from threads, processes, ray, or give"),
        ("ray", "the engine ray needs Ray, which is not", "pip install 'activetest[ray]'"),
    ],
)
def test_an_engine_that_there_is_not_ends_a_command(name, problem, hint, monkeypatch, capsys):
    monkeypatch.setattr(ray_tasks, "_is_installed", lambda: False)
    assert main(["verify", "--engine", name]) == 2
    said = capsys.readouterr().err
    assert problem in said and hint in said


def test_commas_separate_names():
    assert options.split_names(["a,b", "c"]) == ("a", "b", "c")
    assert options.split_names(None) is None


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["id=image,label=choice"], {"id": "image", "label": "choice"}),
        (["id=image", "label=choice"], {"id": "image", "label": "choice"}),
        (["label=Is it right, or not?,id=a"], {"label": "Is it right, or not?", "id": "a"}),
        (["id=a, label = b=c "], {"id": "a", "label": "b=c"}),
        (["status=,annotator=who"], {"status": "", "annotator": "who"}),
        (["note=x"], {"note": "x"}),
        (None, {}),
    ],
)
def test_a_field_and_its_sign_end_the_column_before_it(given, meant):
    assert options.split_pairs("--columns", given) == meant


@pytest.mark.parametrize("given", ["image", "id=", "=image", "id=a,label="])
def test_a_pair_without_a_column_is_refused(given):
    with pytest.raises(ChoiceError, match="--columns is"):
        options.split_pairs("--columns", [given])


def test_commas_separate_numbers():
    assert options.read_numbers("--power", ["1,4", "0.5"], float) == (1.0, 4.0, 0.5)
    with pytest.raises(ChoiceError, match="--budget is 'ten', not a whole number"):
        options.read_numbers("--budget", ["50,ten"], int)


@pytest.mark.parametrize(
    ("text", "gates"),
    [
        ("error<=0.1", ("error<=0.1",)),
        ("error<=0.1,f1>=0.9", ("error<=0.1", "f1>=0.9")),
        ("recall[a,b]>=0.8,error@region=EU<=1e-1", ("recall[a,b]>=0.8", "error@region=EU<=1e-1")),
        ("error@place=a,b<=0.1", ("error@place=a,b<=0.1",)),
        ("error", ("error",)),
    ],
)
def test_a_comma_after_the_number_of_a_gate_begins_the_next_one(text, gates):
    assert split_gates([text]) == gates


@pytest.mark.parametrize("name", DECLARATIONS)
def test_every_declared_choice_is_an_option_of_init_and_of_simulate_where_it_says_so(name):
    declaration = DECLARATIONS[name]
    for command, takes in (
        ("init", True),
        ("simulate", declaration.simulated != Simulated.NO),
    ):
        found = {each.name: each for each in COMMANDS[command].params}
        if not takes:
            # simulate may have an option of its own of that name, with a meaning of its own.
            assert name not in found or found[name].help != declaration.meaning
            continue
        assert found[name].opts == [choices.option(name)]
        assert found[name].help == declaration.meaning


def test_simulate_takes_several_values_where_the_declaration_says_so():
    found = {each.name: each for each in COMMANDS["simulate"].params}
    several = {name for name in DECLARATIONS if name in found and found[name].multiple}
    declared = {
        name
        for name, declaration in DECLARATIONS.items()
        if declaration.simulated == Simulated.SEVERAL or declaration.kind.is_list
        if declaration.simulated != Simulated.NO or name == "metric"
    }
    own = {"metric", "budget"}
    assert several - own == declared - own


def test_a_function_with_declared_options_keeps_its_own():
    @options.with_choices("init")
    def command(own: int = 3, **rest: str) -> None:
        """Nothing."""

    parameters = inspect.signature(command).parameters
    assert next(iter(parameters)) == "own" and "rest" not in parameters
    assert {*DECLARATIONS} < {*parameters}


def test_the_task_of_a_pool_is_one_value(capsys):
    assert main(["init", "--help-all"]) == 0
    printed = capsys.readouterr().out
    assert "--task classification|regression\n" in printed


def test_a_map_is_a_file_or_pairs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert options.read_map(None) is None and options.read_map("map.csv") == "map.csv"
    assert options.read_map("OK=0, not fraud=1") == {"OK": "0", "not fraud": "1"}
    (tmp_path / "a=b.csv").write_text("from,to\n")
    assert options.read_map("a=b.csv") == "a=b.csv"
    for wrong in ("OK=0,fraud", "=1", "OK="):
        with pytest.raises(ChoiceError, match="--map is") as caught:
            options.read_map(wrong)
        assert caught.value.hint == "for example --map OK=0,fraud=1"
