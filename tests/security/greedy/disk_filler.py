# One file that grows without end.
import time

with open("/workspace/hog", "wb", buffering=0) as file:
    while True:
        file.write(b"x" * (1 << 20))
        if file.tell() <= 20 << 20:
            print("at", time.time(), flush=True)
        time.sleep(0.005)
