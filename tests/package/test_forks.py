"""Children that are forked while other threads run batches work as any process does."""

import os
import subprocess
import sys
import textwrap

import pytest

SCRIPT = """
import os, signal, sys, threading, time
import numpy as np
import dalembert as da
from dalembert.library import chain

da.set_threads(3)
m = chain(6).compile()
state, factor = m.random_state(0, size=64), m.factor(m.random_state(0).q)
right = np.ones((2000, m.nv))
done = threading.Event()

def work():
    while not done.is_set():
        m.forward_dynamics(state.q, state.v, state.v)
        factor.solve(right)

threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
for thread in threads:
    thread.start()
expected, solved = m.forward_dynamics(state.q, state.v, state.v), factor.solve(right)
hung = wrong = 0
for _ in range(150):
    child = os.fork()
    if not child:
        same = np.array_equal(m.forward_dynamics(state.q, state.v, state.v), expected)
        same &= np.array_equal(factor.solve(right), solved)
        same &= da.simulate(m, 0.01).status == "finished"
        os._exit(0 if same else 1)
    until = time.monotonic() + 20.0
    found = 0, 0
    while found[0] == 0 and time.monotonic() < until:
        found = os.waitpid(child, os.WNOHANG)
        time.sleep(0.0005)
    if found[0] == 0:
        hung += 1
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    wrong += found[1] != 0
done.set()
for thread in threads:
    thread.join()
print(hung, wrong)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_children_of_a_process_with_batches_under_way() -> None:
    found = subprocess.run([sys.executable, "-c", textwrap.dedent(SCRIPT)], capture_output=True, text=True, timeout=300)
    assert found.stdout.split() == ["0", "0"], found.stderr
