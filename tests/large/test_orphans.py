"""Worker processes end with the process that has started them, however that ends."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

KILLED = """
import os, signal
from bdcc_jax.large.runners import Processes

if __name__ == "__main__":
    with Processes(1) as processes:
        list(processes.run(abs, [1, 2], lambda: None))
        print(*processes._pool._processes, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_no_worker_outlives_a_kill(tmp_path):
    (tmp_path / "killed.py").write_text(KILLED)
    done = subprocess.run(
        [sys.executable, "killed.py"], cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == -9
    (pid,) = map(int, done.stdout.split())
    for _ in range(300):
        if not is_alive(pid):
            return
        time.sleep(0.1)
    pytest.fail(f"process {pid} is still there")
