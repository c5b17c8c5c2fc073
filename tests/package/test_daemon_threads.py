"""Programs that end while daemon threads are at work end quietly."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys, threading, time
import numpy as np
import dalembert as da
from dalembert.library import chain

model = chain(6).compile()
jobs = {
    "run": lambda: da.simulate(model, 5.0),
    "control": lambda: da.simulate(model, 5.0, control=lambda state: np.zeros(model.nv)),
    "many": lambda: da.simulate(model, 2.0, state=model.random_state(0, size=64)),
    "batch": lambda: model.mass_matrix(model.random_state(0, size=4096).q),
}
begun = threading.Semaphore(0)

def work():
    begun.release()
    while True:
        jobs[sys.argv[1]]()

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
for _ in range(3):
    begun.acquire()
time.sleep(0.3)
print("end")
"""


@pytest.mark.parametrize("job", ["run", "control", "many", "batch"])
def test_a_program_ends_while_threads_are_at_work(job: str) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, job], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.split()) == (0, ["end"]), done.stderr
    assert "terminate" not in done.stderr and "Fatal" not in done.stderr
