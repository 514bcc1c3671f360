# The flood comes from a process that the run has started.
import os, subprocess, time

print("at", time.time(), flush=True)
subprocess.run(["yes"])
