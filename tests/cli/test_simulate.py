"""The command simulate: what it takes, and what it prints."""

import json
import re

import pytest

from activetest.cli.app import main


@pytest.fixture
def words(folder, write_pool) -> list[str]:
    """A short simulation on a pool of 40 items."""
    write_pool(folder / "pool.parquet", 40)
    (folder / "key.csv").write_text(
        "id,label\n" + "".join(f"item-{row},{'cat' if row % 3 else 'dog'}\n" for row in range(40))
    )
    words = ["simulate", "pool.parquet", "--labels", "key.csv", "--budget", "10", "--runs", "4"]
    # Processes of its own cost more than so small a simulation.
    return [*words, "--workers", "1"]


def test_a_simulation_is_a_table_or_json(words, capsys):
    words += ["--metric", "error", "--estimator", "lure,doubly-robust"]
    assert main([*words, "--format", "json"]) == 0
    out, err = capsys.readouterr()
    results = json.loads(out)["results"]
    assert [result["estimator"] for result in results][:2] == ["lure", "doubly-robust"]
    assert {(result["budget"], result["runs"]) for result in results} == {(10, 4)}
    assert err == ""
    assert main(words) == 0
    assert "doubly-robust" in capsys.readouterr().out


def test_a_simulation_reads_what_init_reads_and_leaves_nothing_beside_it(folder, capsys):
    rows = [(f"{row:03d}", row / 40, row % 2) for row in range(40)]
    pool = "id,score\n" + "".join(f"{id},{score}\n" for id, score, _ in rows)
    (folder / "pool.csv").write_text(pool)
    (folder / "key.csv").write_text("id,label\n" + "".join(f"{id},{y}\n" for id, _, y in rows))
    words = ["simulate", "pool.csv", "--labels", "key.csv", "--budget", "10", "--runs", "2"]
    assert main([*words, "--workers", "1"]) == 0
    assert "doubly-robust" in capsys.readouterr().out
    assert sorted(path.name for path in folder.iterdir()) == ["key.csv", "pool.csv"]


def test_a_key_with_other_names_of_columns_is_named_by_an_option(words, folder, capsys):
    key = (folder / "key.csv").read_text().replace("id,label", "item,truth")
    (folder / "key.csv").write_text(key)
    assert main(words) == 2
    assert "say which ones they are: --columns id=item,label=truth\n" in capsys.readouterr().err
    assert main([*words, "--columns", "id=item,label=truth", "--metric", "error"]) == 0
    assert "doubly-robust" in capsys.readouterr().out


def results(capsys, *words: str) -> list[dict]:
    assert main([*words, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)["results"]


def test_draws_aim_at_the_first_metric_or_at_another(words, capsys):
    words += ["--estimator", "doubly-robust", "--acquisition", "optimal", "--metric"]
    first = results(capsys, *words, "error,recall[cat]")
    same = results(capsys, *words, "error,recall[cat]", "--aim", "error")
    other = results(capsys, *words, "error,recall[cat]", "--aim", "recall[cat]")
    assert first == same != other
    assert [one["metric"] for one in first] == [one["metric"] for one in other]


def test_intervals_for_any_number_of_looks_are_wider(words, capsys):
    # Uniform draws are the same whatever they serve.
    words += ["--metric", "error", "--estimator", "doubly-robust", "--acquisition", "uniform"]
    fixed, anytime = (results(capsys, *words, "--interval", kind) for kind in ("fixed", "anytime"))
    pairs = list(zip(fixed, anytime, strict=True))
    assert pairs and all(one["width"] < other["width"] for one, other in pairs)
    assert all(one["rmse"] == other["rmse"] for one, other in pairs)


def test_costs_come_from_a_file(words, folder, capsys):
    (folder / "costs.csv").write_text(",cat,dog,owl\ncat,0,5,1\ndog,1,0,1\nowl,1,1,0\n")
    words += ["--metric", "cost", "--costs", "costs.csv"]
    assert {one["metric"] for one in results(capsys, *words)} == {"cost"}


@pytest.mark.parametrize(
    ("wish", "problem"),
    [
        (["--costs", "nowhere.csv"], "there is no file nowhere.csv"),
        (["--metric", "cost"], "costs"),
        (["--aim", "nonsense"], "nonsense"),
        (["--interval", "wide"], "wide"),
        (["--format", "junit"], "the format 'junit' shows no simulation"),
    ],
)
def test_options_that_make_no_sense(words, capsys, wish, problem):
    assert main([*words, *wish]) == 2
    out, err = capsys.readouterr()
    assert out == "" and problem in err and "hint: " in err


def test_ways_to_draw_can_be_named_again(words, capsys):
    words += ["--metric", "error", "--estimator", "ase", "--acquisition", "optimal,active-risk"]
    words += [
        "--selection",
        "draw,top",
        "--power",
        "1",
        "--power",
        "3",
        "--estimator",
        "importance",
    ]
    found = [
        (one["acquisition"], one["selection"], one["power"])
        for one in results(capsys, *words, "--refit", "doubling")
    ]
    assert found == [
        ("optimal", "draw", 1.0),
        ("optimal", "draw", 3.0),
        ("optimal", "top", 1.0),
        ("active-risk", "draw", 1.0),
        ("active-risk", "draw", 3.0),
    ]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert {"acquisition", "mse", "ratio", "+-"} <= set(shown.splitlines()[0].split())
    assert all(how in shown for how in ("optimal ^3", "optimal top", "active-risk ^3"))


def test_finished_runs_are_kept_and_curves_drawn(words, folder, capsys):
    pytest.importorskip("matplotlib")
    words += ["--metric", "error", "--save", "runs.jsonl"]
    words += ["--plot", "curves.svg", "--plot", "curves.png"]
    first = results(capsys, *words)
    written = {name: (folder / name).read_bytes() for name in ("runs.jsonl", "curves.svg")}
    assert results(capsys, *words) == first
    assert {name: (folder / name).read_bytes() for name in written} == written
    assert (folder / "curves.png").stat().st_size > 10_000


FILES = ["page.html", "found.json", "found.md", "found.txt"]


def test_results_are_written_in_the_format_of_each_ending(words, folder, capsys):
    words += ["--metric", "error", "--estimator", "lure"]
    outputs = [word for name in FILES for word in ("-o", name)]
    for _ in range(2):
        assert main([*words, *outputs]) == 0
        out, err = capsys.readouterr()
        assert err.splitlines()[-4:] == [f"written: {name}" for name in FILES]
    written = {name: (folder / name).read_text(encoding="utf-8") for name in FILES}
    assert main([*words, "--format", "json"]) == 0
    assert written["found.json"] == capsys.readouterr().out
    assert main([*words, "--format", "markdown"]) == 0
    table = capsys.readouterr().out
    assert written["found.md"] == f"<!-- simulation by activetest -->\n\n{table}"
    assert written["found.txt"] == f"A simulation by activetest.\n\n{out}"
    assert 'content="activetest simulate"' in written["page.html"]


@pytest.mark.parametrize("name", FILES)
def test_only_an_earlier_simulation_in_the_same_format_is_replaced(words, folder, capsys, name):
    """Reports and files of others stay, unless they are forced; nothing is simulated before."""
    words += ["--metric", "error", "--estimator", "lure", "-o", "first.txt", "-o", name]
    heads = [
        "mine",
        "A report by activetest.\n",
        "<!-- report by activetest -->\n",
        '<meta name="generator" content="activetest report">',
        '{\n  "schema_version": 3,\n  "acquisition": "optimal"\n}\n',
    ]
    for head in heads:
        (folder / name).write_text(head)
        assert main(words) == 2
        problem = f"error: {name} is there already, and is no earlier simulation\n"
        assert capsys.readouterr() == (
            "",
            f"{problem}hint:  write to another file, or replace it: --force\n",
        )
        assert (folder / name).read_text() == head and not (folder / "first.txt").exists()
    assert main([*words, "--force"]) == 0
    assert main(words) == 0


def test_a_simulation_is_never_written_over_what_it_reads(words, folder, capsys):
    words += ["--metric", "error", "--estimator", "lure", "--force"]
    (folder / "key.csv").rename(folder / "key.txt")
    words[words.index("key.csv")] = "key.txt"
    key = (folder / "key.txt").read_bytes()
    assert main([*words, "-o", "key.txt"]) == 2
    assert "key.txt is the answer key, and is never written over" in capsys.readouterr().err
    assert (folder / "key.txt").read_bytes() == key
    # Nor over finished runs that are not there yet.
    assert main([*words, "--save", "runs.json", "-o", "./runs.json"]) == 2
    assert "runs.json is the file of finished runs" in capsys.readouterr().err
    assert not (folder / "runs.json").exists()
    assert main([*words, "-o", "one.md", "-o", "./one.md"]) == 2
    assert "two of the simulation's files are one file" in capsys.readouterr().err
    assert not (folder / "one.md").exists()


@pytest.mark.parametrize(
    ("wish", "problem"),
    [
        (["-o", "found.pdf"], "found.pdf has no ending of a simulation's file"),
        (["-o", "junit.xml"], "ends with one of .html, .htm, .json, .md, .markdown, .txt"),
        (["-o", "nowhere/found.md"], "there is no folder nowhere"),
        (["--plot", "curves.pdf"], "neither .svg nor .png"),
        (["--plot", f"{'x' * 300}.png"], "xxx...xxx"),
        (["--save", "nowhere/runs.jsonl"], "cannot keep runs in nowhere/runs.jsonl"),
        (["--selection", "best"], "selection is 'best'"),
        (["--power", "0"], "power is 0"),
        (["--refit", "often"], "refit is 'often'"),
        (["--workers", "0"], "--workers"),
        (["--acquisition", "active-risk", "--estimator", "lure"], "no estimate by lure exists"),
    ],
)
def test_ways_to_play_that_make_no_sense(words, capsys, wish, problem):
    assert main([*words, *wish]) == 2
    out, err = capsys.readouterr()
    assert out == "" and problem in err and "hint: " in err


def test_an_interrupt_says_how_many_runs_are_kept(folder, write_pool, capsys, monkeypatch):
    def stop(pool, labels, *, progress, **more):
        progress(3, 10)
        raise KeyboardInterrupt

    monkeypatch.setattr("activetest.simulation.simulate.simulate", stop)
    words = ["simulate", "pool.parquet", "--labels", "key.csv"]
    with pytest.raises(KeyboardInterrupt):
        main([*words, "--save", "runs.jsonl"])
    message = "stopped: 3 runs are kept in runs.jsonl; the same command goes on\n"
    assert capsys.readouterr() == ("", message)
    with pytest.raises(KeyboardInterrupt):
        main(words)
    assert capsys.readouterr() == ("", "")


def test_neither_a_picture_nor_saved_runs_take_the_place_of_anything_else(words, folder, capsys):
    pytest.importorskip("matplotlib")
    init = ["init", "pool.parquet", "--seed", "1"]
    assert main(init) == 0
    (folder / "mine.svg").write_text("<svg/>")
    (folder / "mine.jsonl").write_text('{"activetest": "my notes"}')
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    capsys.readouterr()
    for option, place, problem in (
        ("--plot", "mine.svg", "mine.svg is there already, and is no picture.*--force"),
        ("--plot", ".activetest/curves.svg", "curves.svg is inside the study .*, and is never"),
        ("--save", "mine.jsonl", "mine.jsonl is not a saved simulation"),
        ("--save", "key.csv", "key.csv is the answer key, and is never written over"),
        ("--save", ".activetest/runs.jsonl", "runs.jsonl is inside the study .*, and is never"),
        ("--save", "pool.parquet", "pool.parquet is the pool, and is never written over"),
    ):
        for force in ([], ["--force"]):
            if place == "mine.svg" and force:
                continue
            assert main([*words, option, place, *force]) == 2
            out, err = capsys.readouterr()
            assert re.search(problem, err, re.DOTALL) and not out
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    words += ["--estimator", "iid", "--metric", "error"]
    assert main([*words, "--plot", "mine.svg", "--force"]) == 0
    assert main([*words, "--plot", "mine.svg", "--save", "runs.jsonl"]) == 0
    assert main([*words, "--plot", "mine.svg", "--save", "runs.jsonl"]) == 0


def test_an_estimator_with_options_is_compared_under_the_name_that_was_given(words, capsys):
    names = ["alt-mas", "alt-mas[plug-in=labels]", "alt-mas[plug-in=nothing]"]
    words += ["--metric", "accuracy", "--acquisition", "uniform", "--estimator", ",".join(names)]
    found = {one["estimator"]: one for one in results(capsys, *words)}
    assert list(found) == names
    first, same, nothing = ({**found[name], "estimator": ""} for name in names)
    assert first == same != nothing
    assert main([*words, "--estimator", "alt-mas[plug-in=some]"]) == 2
    assert "plug-in=labels|labels+augmented|nothing" in capsys.readouterr().err
