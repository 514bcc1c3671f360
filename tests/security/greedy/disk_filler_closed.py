# Closes the directory that it fills to its owner, so that nobody of this id may read it.
import os
import time

os.mkdir("hog")
os.chmod("hog", 0o300)
for number in range(1000):
    with open(f"hog/{number}", "wb") as file:
        file.write(os.urandom(1 << 20))
    if number < 20:
        print("at", time.time(), flush=True)
    time.sleep(0.01)
