# Private pages of one process, step by step, each touched.
import time

kept = []
while True:
    kept.append(bytearray(b"x" * (4 << 20)))
    print("at", time.time(), flush=True)
