"""Secrets in the addresses of pools: new ones are refused, and nobody gets to see old ones."""

from pathlib import Path

import pytest
from pyarrow import fs

from activetest.cli.app import main
from activetest.errors import ChoiceError, PoolError
from activetest.pool import files
from activetest.study.stored import StoredStudy
from activetest.study.study import Study

ADDRESS = "s3://KEY:SECRET@bucket/pool.parquet?token=SECRET"


def read_everything(folder: Path) -> bytes:
    """The content of every file below a folder."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_a_secret_is_refused_before_anything_is_written_or_opened(pool_file, folder, capsys):
    for words in ([ADDRESS], [ADDRESS, "--dry-run"], [pool_file, "--train", ADDRESS]):
        assert main(["init", *words]) == 2
        error = capsys.readouterr().err
        assert "s3://***@bucket/pool.parquet?token=*** holds a secret" in error
        assert "AWS_SECRET_ACCESS_KEY" in error and "SECRET@" not in error
    assert [path.name for path in folder.iterdir()] == [pool_file]
    study = Study.create(pool_file)
    with pytest.raises(ChoiceError, match="holds a secret"):
        study.change(other_models=ADDRESS)
    assert b"SECRET" not in read_everything(study.folder)


@pytest.fixture
def edited(study, folder, monkeypatch) -> StoredStudy:
    """A study into which an address with a secret was written; it opens a file here."""

    def open_store(uri: str) -> tuple[fs.FileSystem, str]:
        if uri != ADDRESS:
            raise OSError(f"no access to {uri}")
        return fs.LocalFileSystem(), str(folder / "pool.parquet")

    monkeypatch.setattr(files, "open_store", open_store)
    config = study.folder / "study.toml"
    config.write_text(
        config.read_text().replace('address = "pool.parquet"', f'address = "{ADDRESS}"')
    )
    return StoredStudy.open()


def test_a_stored_secret_opens_its_pool_and_is_never_shown(edited, folder, capsys):
    verbs = [["init"], ["next", "-n", "4", "--show", "place"], ["status"], ["report", "-v"]]
    verbs += [["init", "--metric", "accuracy"], ["next", "--show", "nope"]]
    verbs += [["report", "--format", format] for format in ("json", "markdown")]
    verbs += [["report", "--require", "error<=1", "--format", "junit"]]
    for words in verbs:
        assert main(words) in (0, 2, 3)
        captured = capsys.readouterr()
        assert "SECRET" not in captured.out + captured.err
        assert captured.out or words[-1] == "nope"
    study = Study.open()
    assert ADDRESS in (study.folder / "study.toml").read_text()
    described = f"{study.setup.uri} {study.setup} {study.report().to_json()} {study!r}"
    assert "s3://***@bucket/pool.parquet?token=***" in described and "SECRET" not in described
    content = read_everything(study.folder / "cache") + read_everything(study.folder / "rounds")
    content += (study.folder / "pool.summary").read_bytes()
    assert b"SECRET" not in content + (study.folder / "ledger.db").read_bytes()


def test_no_error_about_an_address_shows_its_secret(edited, capsys):
    config = edited.folder / "study.toml"
    config.write_text(config.read_text().replace("pool.parquet?", "gone.parquet?"))
    with pytest.raises(PoolError) as caught:
        StoredStudy.open().cache()
    assert "SECRET" not in str(caught.value) and "s3://***@bucket" in str(caught.value)
    assert main(["next", "--new"]) == 2
    error = capsys.readouterr().err
    assert "no access to s3://***@bucket/gone.parquet?token=***" in error
    assert "SECRET" not in error.replace("SECRET_ACCESS", "")
