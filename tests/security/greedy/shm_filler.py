# /dev/shm alone.
import time

with open("/dev/shm/hog", "wb", buffering=0) as file:
    while True:
        file.write(b"x" * (1 << 20))
        print("at", time.time(), flush=True)
