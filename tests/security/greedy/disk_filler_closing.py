# Closes the directory that it fills again as soon as somebody opens it.
import os
import threading
import time

os.mkdir("hog")


def close():
    while True:
        os.chmod("hog", 0o300)


for _ in range(2):
    threading.Thread(target=close, daemon=True).start()
for number in range(1000):
    with open(f"hog/{number}", "wb") as file:
        file.write(os.urandom(1 << 20))
    if number < 20:
        print("at", time.time(), flush=True)
    time.sleep(0.01)
