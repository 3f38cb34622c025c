"""Writers of files in the shape of other programs' logs, and a reader of what becomes of them.

The shapes are those of the programs' own source; the content is made up here.
"""

import json
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from activetest import catalog
from activetest.formats import find_format
from activetest.labels import exports
from activetest.nouns.file_head import read_head

STORED, DEFLATED, ZSTD = 0, 8, 93


def find(path: Path) -> str | None:
    """The format that recognises a file."""
    return find_format(read_head(path))


def read_table(path: Path) -> pa.Table:
    """The whole table that the format of a file gives, all of whose parts have one schema."""
    name = find(path)
    assert name is not None
    tables = list(catalog.load("formats", name).read_pool(path))
    assert all(table.schema.equals(tables[0].schema, check_metadata=True) for table in tables)
    return pa.concat_tables(tables)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file."""
    return read_table(path).to_pylist()


def read_document(path: Path) -> dict[str, Any]:
    """The notes of a reader on a file, beyond its columns."""
    return json.loads(read_table(path).schema.metadata[b"activetest"])


def read_notes(path: Path) -> list[str]:
    """The notes of a file."""
    return read_document(path)["notes"]


def read_labels(path: Path) -> dict[str, str]:
    """{id: label} of the answers in a file, as `ingest` takes them."""
    return {row.id: str(row.label) for row in exports.read_answers(path)}


def write_lines(path: Path, lines: Iterable[object], *, end: str = "\n") -> Path:
    """An object a line."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines).rstrip("\n") + end, "utf-8")
    return path


def write_json(path: Path, document: object) -> Path:
    """A document, indented as HELM and Inspect do."""
    path.write_text(json.dumps(document, indent=2), "utf-8")
    return path


def write_zip(
    path: Path,
    members: Iterable[tuple[str, bytes]],
    method: int = DEFLATED,
    *,
    unpacked: int | None = None,
    flags: int = 0,
) -> Path:
    """A zip archive, byte by byte, so that a member may be zstd and a header may lie.

    unpacked  what every header says that the member unpacks to; default: the truth
    """
    body, directory, count = bytearray(), bytearray(), 0
    for name, content in members:
        encoded, packed = name.encode(), _pack(content, method)
        size = len(content) if unpacked is None else unpacked
        fields = (20, flags, method, 0, 0, zlib.crc32(content), len(packed), size, len(encoded))
        local = struct.pack("<4s5H3I2H", b"PK\x03\x04", *fields, 0) + encoded
        central = struct.pack("<4s6H3I5H2I", b"PK\x01\x02", 20, *fields, 0, 0, 0, 0, 0, len(body))
        directory += central + encoded
        body += local + packed
        count += 1
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, count, count, len(directory), len(body), 0)
    path.write_bytes(bytes(body + directory + end))
    return path


def _pack(content: bytes, method: int) -> bytes:
    if method == ZSTD:
        return pa.Codec("zstd").compress(content, asbytes=True)
    if method != DEFLATED:
        return content
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(content) + packer.flush()


def inspect_sample(
    id: int | str = 1,
    value: object = "C",
    *,
    epoch: int = 1,
    scorer: str = "match",
    answer: str | None = "Yes",
    target: object = "Yes",
    output: str | None = "Yes",
    choices: Sequence[str] | None = None,
    metadata: Mapping[str, object] | None = None,
    scores: object = None,
    **fields: object,
) -> dict[str, object]:
    """A sample of Inspect; with the value None its scorer gave no score."""
    message = {"role": "assistant", "content": output, "source": "generate"}
    scored = {scorer: {"value": value, "answer": answer, "explanation": output}}
    return {
        "id": id,
        "epoch": epoch,
        "input": f"Question {id}?",
        **({"choices": list(choices)} if choices else {}),
        "target": target,
        "messages": [{"role": "user", "content": f"Question {id}?"}, message],
        "output": {
            "model": "made-up",
            "choices": [] if output is None else [{"message": message, "stop_reason": "stop"}],
            "usage": {"input_tokens": 9, "output_tokens": 1, "total_tokens": 10},
        },
        "scores": scores if scores is not None else ({} if value is None else scored),
        "metadata": dict(metadata or {}),
        "store": {},
        "events": [{"event": "state", "changes": [{"op": "add", "path": "/x", "value": {"a": 1}}]}],
        "model_usage": {},
        "attachments": {},
        **fields,
    }


def inspect_members(samples: Iterable[Mapping[str, Any]]) -> list[tuple[str, bytes]]:
    """The members of a log of Inspect, in the order in which it writes them."""
    samples = list(samples)
    start = {"version": 2, "eval": {"task": "made-up", "model": "made-up"}, "plan": {}}
    summaries = [{key: each.get(key) for key in ("id", "epoch", "scores")} for each in samples]
    members: list[tuple[str, object]] = [("_journal/start.json", start)]
    members += [(f"samples/{each['id']}_epoch_{each['epoch']}.json", each) for each in samples]
    members += [
        ("_journal/summaries/1.json", summaries),
        ("summaries.json", summaries),
        ("reductions.json", []),
        ("header.json", start | {"status": "success"}),
    ]
    return [(name, json.dumps(content).encode()) for name, content in members]


def write_eval(path: Path, samples: Iterable[Mapping[str, Any]], method: int = DEFLATED) -> Path:
    """A log of Inspect, `.eval`."""
    return write_zip(path, inspect_members(samples), method)


def write_eval_json(path: Path, samples: Iterable[Mapping[str, Any]]) -> Path:
    """A log of Inspect, `.json`."""
    document = {
        "version": 2,
        "status": "success",
        "eval": {"task": "made-up", "samples": 0},
        "plan": {"steps": [{"solver": "generate", "params": {"samples": [1]}}]},
        "results": {"total_samples": 1, "scores": []},
        "stats": {},
        "samples": list(samples),
        "reductions": [{"scorer": "match", "samples": []}],
    }
    return write_json(path, document)


def lm_eval_line(
    doc: int = 0,
    *,
    response: str = "The answer is 4",
    filtered: str | None = None,
    filter: str = "none",
    target: object = "4",
    fields: Mapping[str, object] | None = None,
    **metrics: object,
) -> dict[str, object]:
    """A line of a task that generates text."""
    return {
        "doc_id": doc,
        "doc": {"question": f"What is {doc} + 4?", **(fields or {})},
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": f"Q: {doc} + 4?\nA:", "arg_1": {"until": ["\n"]}}},
        "resps": [[response]],
        "filtered_resps": [response if filtered is None else filtered],
        "filter": filter,
        "metrics": list(metrics),
        "doc_hash": f"hash of {doc}",
        "prompt_hash": "p",
        "target_hash": "t",
        **metrics,
    }


def lm_eval_choice(
    doc: int = 0,
    likelihoods: Sequence[float] = (-1.0, -2.0),
    options: Sequence[str] = (" yes", " no"),
    *,
    target: object = 0,
    acc: object = 1.0,
    old: bool = False,
    fields: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """A line of a multiple-choice task; old as versions before 2025 wrote it."""
    pairs = [[value, False] for value in likelihoods]
    line: dict[str, object] = {
        "doc_id": doc,
        "doc": {"question": f"Is {doc} even?", **(fields or {})},
        "target": target,
        "arguments": {
            f"gen_args_{k}": {"arg_0": f"Is {doc} even?", "arg_1": option}
            for k, option in enumerate(options)
        },
        "resps": [[pair] for pair in pairs],
        "filtered_resps": pairs,
        "filter": "none",
        "metrics": ["acc", "acc_norm"],
        "doc_hash": f"hash of {doc}",
        "prompt_hash": "p",
        "target_hash": "t",
        "acc": acc,
        "acc_norm": acc,
    }
    if old:
        text = [[str(value), "False"] for value in likelihoods]
        line |= {
            "arguments": [[f"Is {doc} even?", option] for option in options],
            "resps": [[pair] for pair in text],
            "filtered_resps": text,
            "target": str(target),
        }
        del line["filter"], line["metrics"]
    return line


def promptfoo_result(
    test: int = 0,
    prompt: int = 0,
    *,
    provider: object = None,
    output: object = "Hello Ada",
    score: object = 1,
    reason: int = 0,
    grading: Mapping[str, object] | None = None,
    named: Mapping[str, object] | None = None,
    variables: Mapping[str, object] | None = None,
    error: str | None = None,
) -> dict[str, object]:
    """A result of promptfoo; an error is one with reason 2."""
    success = score == 1
    usual = {"pass": success, "score": score, "reason": "All assertions passed"}
    return {
        "id": f"result-{test}-{prompt}",
        "cost": 0.0,
        "error": error,
        "failureReason": reason,
        "gradingResult": usual if grading is None else grading,
        "latencyMs": 12,
        "namedScores": dict(named or {}),
        "prompt": {"raw": f"Greet {test}", "label": "Greet {{name}}"},
        "promptId": "p",
        "promptIdx": prompt,
        "provider": {"id": "openai:gpt-4o", "label": ""} if provider is None else provider,
        "response": {} if output is None else {"output": output, "tokenUsage": {"total": 5}},
        "score": score,
        "success": success,
        "testCase": {"vars": dict(variables or {}), "assert": []},
        "testIdx": test,
        "vars": dict(variables or {}),
    }


def write_promptfoo(path: Path, results: Iterable[Mapping[str, object]]) -> Path:
    """Results of promptfoo, version 3."""
    return write_json(
        path,
        {
            "evalId": "eval-abc-2026-01-01T00:00:00",
            "results": {
                "version": 3,
                "timestamp": "2026-01-01T00:00:00.000Z",
                "prompts": [{"raw": "Greet {{name}}", "provider": "openai:gpt-4o"}],
                "results": list(results),
                "stats": {"successes": 1, "failures": 0, "errors": 0},
            },
            "config": {"prompts": ["Greet {{name}}"]},
            "shareableUrl": None,
            "metadata": {"promptfooVersion": "0.118.0"},
        },
    )


EVALS_SPEC = {
    "spec": {
        "completion_fns": ["gpt-4o"],
        "eval_name": "made-up.test.v1",
        "base_eval": "made-up",
        "split": "test",
        "run_config": {},
        "run_id": "26010100000000AAAAAA",
        "created_at": "2026-01-01 00:00:00",
    }
}


def evals_event(sample: object, type: str, number: int = 0, **data: object) -> dict[str, object]:
    """An event of OpenAI's evals."""
    return {
        "run_id": "26010100000000AAAAAA",
        "event_id": number,
        "sample_id": sample,
        "type": type,
        "data": data,
        "created_by": "",
        "created_at": "2026-01-01 00:00:00+00:00",
    }


def helm_prediction(
    id: str = "id0",
    *,
    text: str = "Paris",
    perturbation: Mapping[str, object] | None = None,
    trial: int = 0,
    stats: Mapping[str, object] | None = None,
    **fields: object,
) -> dict[str, object]:
    """A prediction of HELM."""
    return {
        "instance_id": id,
        **({"perturbation": dict(perturbation)} if perturbation else {}),
        "train_trial_index": trial,
        "predicted_text": text,
        **fields,
        "stats": dict({"exact_match": 1.0} if stats is None else stats),
    }


def helm_instance(
    id: str, text: str, correct: str, *, perturbation: Mapping[str, object] | None = None
) -> dict[str, object]:
    """An instance of HELM."""
    return {
        "input": {"text": text},
        "references": [
            {"output": {"text": correct}, "tags": ["correct"]},
            {"output": {"text": "Rome"}, "tags": []},
        ],
        "split": "test",
        **({"perturbation": dict(perturbation)} if perturbation else {}),
        "id": id,
    }


def is_zip(path: Path) -> bool:
    """Whether Python's own reader takes an archive that was written here."""
    return zipfile.is_zipfile(path)
