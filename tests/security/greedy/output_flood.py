# Standard output without end; what is over the limit is written too.
import os, time

total = 0
while True:
    os.write(1, b"x" * 65536)
    total += 65536
    if total <= 1 << 20:
        os.write(2, b"at %f\n" % time.time())
