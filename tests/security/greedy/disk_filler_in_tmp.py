# /tmp counts too; many files of a size.
import time

number = 0
while True:
    with open(f"/tmp/hog{number}", "wb") as file:
        file.write(b"x" * (1 << 20))
    number += 1
    if number <= 20:
        print("at", time.time(), flush=True)
    time.sleep(0.005)
