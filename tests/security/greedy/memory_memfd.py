# Files in memory that no process maps: only the descriptors hold them.
import os, time

kept = []
while True:
    fd = os.memfd_create("hog")
    os.write(fd, b"x" * (4 << 20))
    kept.append(fd)
    print("at", time.time(), flush=True)
