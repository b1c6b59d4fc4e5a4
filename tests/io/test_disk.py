"""Full disks and read-only folders: a clear error, and the old file is as it was."""

import errno
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from bdcc_jax import Graph, cli, write
from bdcc_jax.io.files import write_bytes

GRAPH = Graph.from_edges([0, 1, 0, 2], [1, 2, 2, 3], [2.0, 1.5, -1.0, -3.0])
FAULTS = [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(GRAPH, tmp_path / "graph.txt")
    (tmp_path / "labels.txt").write_text("precious")
    return tmp_path


@pytest.mark.parametrize("number", FAULTS, ids=errno.errorcode.get)
@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_a_failing_write_leaves_the_old_file(folder, monkeypatch, function, number):
    def fail(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, function, fail)
    with pytest.raises(OSError, match=r"labels.txt") as raised:
        write_bytes(folder / "labels.txt", b"new", force=True)
    assert raised.value.errno == number
    assert (folder / "labels.txt").read_text() == "precious"
    assert sorted(path.name for path in folder.iterdir()) == ["graph.txt", "labels.txt"]


def test_the_command_line_says_it_in_one_line_and_shows_the_result(folder, monkeypatch, capsys):
    def fail(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(SystemExit) as leaving:
        cli.main(["solve", "graph.txt", "-o", "labels.txt", "--force"])
    assert leaving.value.code == 2
    out, err = capsys.readouterr()
    assert err.splitlines()[-1] == "bdcc-jax: labels.txt: No space left on device"
    assert out.startswith("status        optimal")
    assert (folder / "labels.txt").read_text() == "precious"


@pytest.fixture
def mounted(tmp_path):
    """A file system of 64 kB that can be filled and made read-only; needs root."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("cannot mount a file system here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_is_full(mounted):
    (mounted / "labels.npy").write_bytes(b"precious")
    with pytest.raises(OSError, match=r"No space left on device: .*labels.npy"):
        write_bytes(mounted / "labels.npy", np.random.default_rng(0).bytes(10**6), force=True)
    assert [path.name for path in mounted.iterdir()] == ["labels.npy"]
    assert (mounted / "labels.npy").read_bytes() == b"precious"


def test_a_disk_that_is_read_only(mounted):
    (mounted / "labels.npy").write_bytes(b"precious")
    subprocess.run(["mount", "-o", "remount,ro", str(mounted)], check=True)
    with pytest.raises(PermissionError, match=r"the folder .* is not writable"):
        write_bytes(mounted / "labels.npy", b"new", force=True)
    assert Path(mounted / "labels.npy").read_bytes() == b"precious"
