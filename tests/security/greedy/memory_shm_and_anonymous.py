# /dev/shm as full as it gets, and then pages of the process.
import time

try:
    with open("/dev/shm/hog", "wb", buffering=0) as file:
        while True:
            file.write(b"x" * (4 << 20))
            print("at", time.time(), flush=True)
except OSError:
    pass
kept = []
while True:
    kept.append(bytearray(b"x" * (4 << 20)))
    print("at", time.time(), flush=True)
