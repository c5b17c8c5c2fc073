"""Test runs in the background of a shell script, where SIGINT is ignored, end."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
TIME_LIMIT = 120.0  # s; the run takes some seconds, without the fixture of conftest.py it never ends


@pytest.mark.parametrize("workers", ["0", "1"])  # in the process that ignores SIGINT, and in one that it starts
def test_interrupt_tests_end_where_sigint_is_ignored(workers: str) -> None:
    selection = "test_one_press_stops_a_loop_of_short_runs or test_where_ctrl_c_is_ignored_it_stays_ignored"
    command = [sys.executable, "-m", "pytest", "-n", workers, str(TESTS / "simulation/test_interrupts.py")]
    run = subprocess.run(
        [*command, "-k", selection, "-p", "no:cacheprovider"],
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT,
    )
    assert run.returncode == 0, run.stdout
    assert run.stdout.count(".") >= 2  # both tests ran
