# The same on standard error.
import os, time

total = 0
while True:
    os.write(2, b"x" * 65536)
    total += 65536
    if total <= 1 << 20:
        os.write(1, b"at %f\n" % time.time())
