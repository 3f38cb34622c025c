"""activetest status, as a command."""

from activetest.cli import options, streams

EXAMPLES = ("activetest status --format json",)


def status(format: options.output_format() = "text", study: options.Folder = None) -> None:
    """Say where the study stands, and what next would do."""
    from activetest.study.status import status
    from activetest.study.stored import StoredStudy

    renderer = options.load_format(format, "status")
    streams.write(renderer.status(*status(StoredStudy.open(study))))


COMMAND = status
