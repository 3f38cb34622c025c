"""The file study.toml: the pool, its columns, the choices, and what reports ask for.

Parts, models, criteria and raters are lists: of one each today, but for models.
"""

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from activetest.errors import ChoiceError, StudyError
from activetest.nouns.choices import Choices, fill_older, list_known
from activetest.nouns.report_settings import ReportSettings, read_report_settings
from activetest.nouns.study_lists import (
    MODEL_NAMES,
    Criterion,
    Model,
    Part,
    Rater,
    is_model_name,
)
from activetest.pool.schema import Schema
from activetest.sampling.choices import check_choices
from activetest.study.folder import CONFIG, resolve_address
from activetest.system import atomic

# The pool, training rows, and outputs of other models: paths or URIs.
ADDRESSES = ("uri", "train", "other_models")
# Fingerprints of the auxiliary files, and of the pool's features, as init found them.
FINGERPRINTS = (
    "train_fingerprint",
    "other_models_fingerprint",
    "features_fingerprint",
    "evidence_fingerprint",
    "trained_fingerprint",
)
# The lists of a study, and what the first entry of each says. Today every list but that of models
# has one entry, and only the address of the part is anybody's choice.
_ADDRESS = "address"
_LISTS: dict[str, dict[str, str]] = {
    "parts": {"name": Part.name, _ADDRESS: ""},
    "models": {"name": Model.name},
    "criteria": {"name": Criterion.name},
    "raters": {"name": Rater.name, "kind": Rater.kind},
}
# The judge by whose grades the items of a log were chosen.
GRADED_BY = "graded_by"
_HEADER = """\
# The pool of this study, and the choices for the rounds to come, which may be edited here.
# All draws and labels are in ledger.db; never delete that file.
"""


@dataclass(frozen=True)
class Config:
    """Contents of study.toml.

    pool     the entries of [pool], and the address of the only part as "uri"
    choices  for the rounds to come
    report   what reports ask for
    others   entries of [choices] of wings that this installation lacks, which stay as they are
    models   names of the models, in the order in which they came
    """

    pool: dict[str, Any]
    choices: Choices
    report: ReportSettings = field(default_factory=ReportSettings)
    others: Mapping[str, Any] = field(default_factory=dict)
    models: tuple[str, ...] = (Model.name,)


def read_config(folder: Path) -> Config:
    """The contents of study.toml. Raises ChoiceError where it has mistakes."""
    path = folder / CONFIG
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise ChoiceError(f"{path} is not UTF-8: {error}", "save it as UTF-8") from error
    # Besides its own errors, of which that is one: numbers of more digits than Python reads.
    except ValueError as error:
        raise ChoiceError(f"{path} is not TOML: {error}", "correct that line") from error
    except RecursionError as error:
        raise ChoiceError(f"{path} has too many brackets", "restore what was there") from error
    except OSError as error:
        raise StudyError(f"{path} cannot be read: {error.strerror}", "check the file") from error
    pool = _check_pool(entries, path)
    if unknown := set(entries) - {*_LISTS, "pool", "choices", "report"}:
        raise ChoiceError(f"{path}: there is no section {min(unknown)!r}", "remove it")
    if not isinstance(entries.get("choices", {}), dict):
        raise ChoiceError(f"{path}: [choices] is no section", "restore what was there")
    chosen = fill_older(entries.get("choices", {}))
    known = list_known(chosen)
    others = {name: value for name, value in chosen.items() if name not in known}
    choices = check_choices(known, pool, where=name_section(folder, "choices"))
    report = read_report_settings(entries.get("report", {}), name_section(folder, "report"))
    if report.require:
        _check_gates(report.require, path)
    models = tuple(each["name"] for each in entries["models"])
    return Config(pool, choices, report, others, models)


def name_section(folder: Path, section: str) -> str:
    """Name of a section of a study's file in messages."""
    return f"{folder / CONFIG}, [{section}]"


def write_config(folder: Path, config: Config) -> None:
    """Write study.toml, as a whole or not at all. Raises OSError when it cannot be written."""
    with atomic.replacing_file(folder / CONFIG, durable=True) as building:
        building.write_text(_to_toml(config), encoding="utf-8")


def parse_schema(pool: Mapping[str, Any]) -> Schema:
    """The role of every column. Raises ChoiceError for entries of [pool] that make no sense."""
    others = (*ADDRESSES, *FINGERPRINTS, GRADED_BY)
    return Schema.from_dict({key: value for key, value in pool.items() if key not in others})


def make_relative(pool: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The entries of [pool], with relative addresses as seen from the study folder's parent."""
    given = {key: pool[key] for key in ADDRESSES if pool.get(key)}
    return {**pool, **{key: _from_parent(address, folder) for key, address in given.items()}}


def resolve_addresses(pool: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """{key: address} that opens from any working directory; the inverse of make_relative."""
    given = {key: pool[key] for key in ADDRESSES if pool.get(key)}
    return {key: resolve_address(address, folder) for key, address in given.items()}


def _check_pool(entries: dict[str, Any], path: Path) -> dict[str, Any]:
    """The entries of [pool], and the address of its part as "uri".

    Raises ChoiceError, naming the file, when they make no sense.
    """
    pool = entries.get("pool")
    if not isinstance(pool, dict) or not {"task", "kind"} <= set(pool):
        raise ChoiceError(f"{path}: [pool] needs task and kind", "restore what was there")
    if "uri" in pool:
        raise ChoiceError(f"{path}: [pool] has an unknown key 'uri'", "remove it")
    for name in _LISTS:
        _check_list(name, entries.get(name), path)
    pool = {"uri": entries["parts"][0][_ADDRESS], **pool}
    for key in (*ADDRESSES, *FINGERPRINTS, GRADED_BY):
        if not isinstance(pool.get(key, ""), str):
            raise ChoiceError(f"{path}: [pool] {key} is {pool[key]!r}", "it must be a text")
    try:
        parse_schema(pool)
    except ChoiceError as error:
        raise ChoiceError(f"{path}: {error.problem}", error.hint) from error
    return pool


def _check_list(name: str, found: Any, path: Path) -> None:
    """Raises ChoiceError, naming the file, for a list that is not the only one there can be."""
    expected, where = _LISTS[name], f"{path}: [[{name}]]"
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise ChoiceError(f"{where} is no list of sections", "restore what was there")
    if not found or (len(found) > 1 and name != "models"):
        several = f"several {name} come with a later version" if found else "it is empty"
        raise ChoiceError(f"{where} has {len(found)} entries: {several}", "it has one")
    for key, value in (pair for each in found for pair in each.items()):
        if key not in expected:
            raise ChoiceError(f"{where} has an unknown key {key!r}", "remove it")
        if not isinstance(value, str):
            raise ChoiceError(f"{where} {key} is {value!r}", "it must be a text")
    if name == "models":
        for each in found:
            if not is_model_name(each.get("name", "")):
                raise ChoiceError(f"{where} name is {each.get('name')!r}", MODEL_NAMES)
        return
    for key, usual in expected.items():
        value = found[0].get(key)
        if not value and (key == _ADDRESS or value is None):
            raise ChoiceError(f"{where} {key} is empty", "restore what was there")
        if key != _ADDRESS and value != usual:
            problem = f"{where} {key} is {value!r}: other ones come with a later version"
            raise ChoiceError(problem, f"it is {usual!r}")


def _check_gates(gates: tuple[str, ...], path: Path) -> None:
    """Raises ChoiceError, naming the file, for a gate that is none."""
    from activetest.reporting.requirements import parse_requirement

    for gate in gates:
        try:
            parse_requirement(gate)
        except ChoiceError as error:
            where = name_section(path.parent, "report")
            raise ChoiceError(f"{where}: {error.problem}", error.hint) from error


def _from_parent(address: str, folder: Path) -> str:
    """A relative path as seen from the study folder's parent; anything else as it is."""
    if "://" in address or Path(address).is_absolute():
        return address
    try:
        return Path(os.path.relpath(address, folder.parent)).as_posix()
    except ValueError:
        # Windows: no path leads from one drive to another.
        return str(Path(address).absolute())


def _to_toml(config: Config) -> str:
    """Flat sections; entries that are None are left out, and a section without any but these."""
    lines = [_HEADER]
    pool = dict(config.pool)
    address = pool.pop("uri")
    lists = {name: [each] for name, each in _LISTS.items()}
    lists["parts"] = [{**_LISTS["parts"], _ADDRESS: address}]
    lists["models"] = [{"name": name} for name in config.models]
    sections: list[tuple[str, Mapping[str, Any]]] = [
        (f"[{name}]", each) for name, entries in lists.items() for each in entries
    ]
    sections += [("pool", pool), ("choices", {**asdict(config.choices), **config.others})]
    if report := config.report.list_entries():
        sections.append(("report", report))
    for section, entries in sections:
        lines.append(f"\n[{section}]\n")
        lines += [
            f"{key} = {_format_value(value)}\n"
            for key, value in entries.items()
            if value is not None
        ]
    return "".join(lines)


def _format_value(value: Any) -> str:
    """A string, number, truth value or list of them in TOML, which agrees with JSON on these."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
