"""What a verb writes: whole or not at all, by one run at a time, and over nothing that somebody still needs."""

import json
import os
import resource
from contextlib import contextmanager

import pytest

from harness import document, kept
from harness.errors import UsageError
from harness.rows import Row

OLD, NEW = {"a": 1}, {"a": [0.5] * 10_000}


@contextmanager
def room_for(size):
    """Files can grow to so many bytes: what a full disk is to whoever writes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_where_there_is_no_room_the_old_file_stays(tmp_path):
    path = tmp_path / "run.json"
    document.write_whole(path, OLD)
    with room_for(1000), pytest.raises(UsageError, match=r"run\.json cannot be written .* name another"):
        document.write_whole(path, NEW)
    assert json.loads(path.read_text()) == OLD
    assert list(tmp_path.iterdir()) == [path]


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with open(os.open(path, os.O_RDWR | os.O_NONBLOCK), "rb", buffering=0) as pipe:
        with document.claimed(path, "--json"):
            document.write_whole(path, OLD)
        assert path.is_fifo()
        assert json.loads(pipe.read(1000)) == OLD
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_link_leads_to_is_replaced_and_the_link_stays(tmp_path):
    (tmp_path / "there").mkdir()
    link, target = tmp_path / "link.json", tmp_path / "there" / "run.json"
    link.symlink_to(target)
    for each in (OLD, NEW):
        document.write_whole(link, each)
        assert link.is_symlink()
        assert json.loads(target.read_text()) == each


def test_one_run_at_a_time_writes_to_a_file(tmp_path):
    path = tmp_path / "run.json"
    with document.claimed(path, "--json"):
        with pytest.raises(UsageError, match="is being written by another run"), document.claimed(path, "--json"):
            pass
        with document.claimed(tmp_path / "other.json", "--json"):
            pass
    with document.claimed(path, "--json"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_run_is_not_taken_for_one_of_the_file(tmp_path):
    with pytest.raises(OSError, match="of the run"), document.claimed(tmp_path / "run.json", "--json"):
        raise OSError("of the run")


@pytest.mark.parametrize("name", ["a.cu", "a.py", "board", "link to the board"])
def test_nothing_that_is_needed_is_overwritten(tmp_path, name):
    (tmp_path / "board").write_text("entries")
    (tmp_path / "link to the board").symlink_to("board")
    with (
        pytest.raises(UsageError, match="would overwrite"),
        document.claimed(tmp_path / name, "--json", [tmp_path / "board"]),
    ):
        pass
    assert (tmp_path / "board").read_text() == "entries"


def test_a_pipe_that_nobody_writes_to_is_no_run(tmp_path):
    os.mkfifo(tmp_path / "run.json")
    with pytest.raises(UsageError, match="is a device or a pipe"):
        document.read_run(tmp_path / "run.json")


def test_a_journal_that_finds_no_room_does_not_end_the_run(tmp_path):
    row = Row("a.cu", "softmax", "cpu", "accepted", "x" * 10_000, [], [], 1, [], [])
    keeper = kept.Keeper(tmp_path / "run.json", {"seed": 1}, None, {})
    with room_for(1000):
        keeper.add(row)
        keeper.add(row)
    assert "could not be written" in keeper.journal_failure
    keeper.drop_journal()
    assert list(tmp_path.iterdir()) == []
