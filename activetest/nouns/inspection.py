"""Contents of a file, before there is a study of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Column:
    """A column: its name, type and role in words, and a value of it."""

    name: str
    type: str
    role: str
    example: str


@dataclass(frozen=True)
class Lacking:
    """Metrics that the file does not allow, and what they need."""

    metrics: tuple[str, ...]
    needs: str


@dataclass(frozen=True)
class LabelsFound:
    """Labels that stand in the file.

    column  where
    count   rows with one
    advice  how to hand them in
    """

    column: str
    count: int
    advice: str


@dataclass(frozen=True)
class StudyReading:
    """A way to read outputs that can be read in several.

    meaning  what they then are
    create   the call that creates the study
    """

    meaning: str
    create: str


@dataclass(frozen=True)
class Inspection:
    """Contents of a file, and what can be done with it.

    name       of the file, without secrets
    format     name of the file format; "parquet" of a folder of such files
    title      what people call the format
    rows       number of rows
    columns    in the order of the file
    summary    what was understood, as sentences: of the reader, the task, the outputs ...
    task       "classification" or "regression"; None where no column holds the model's outputs
    classes    of a classifier
    metrics    that the outputs allow, as users write them
    lacking    the other metrics
    labels     each column of labels
    settings   of the study that fits the file, by their names
    create     the call that creates it; None where it would fail
    question   what is unclear about the outputs; empty where nothing is
    readings   the ways to read them, the likeliest last: the other fields are about that
    problem    why there can be no study of the file as it is; empty where there can
    hint       what to do about it
    """

    name: str
    format: str
    title: str
    rows: int
    columns: tuple[Column, ...] = ()
    summary: tuple[str, ...] = ()
    task: str | None = None
    classes: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    lacking: tuple[Lacking, ...] = ()
    labels: tuple[LabelsFound, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    create: str | None = None
    question: str = ""
    readings: tuple[StudyReading, ...] = ()
    problem: str = ""
    hint: str = ""
