# Files without content, until there are more than the session may have.
import os, time

os.makedirs("/workspace/hog", exist_ok=True)
number = 0
while True:
    os.close(os.open(f"/workspace/hog/{number}", os.O_CREAT | os.O_WRONLY))
    number += 1
    if number <= 500 and number % 50 == 0:
        print("at", time.time(), flush=True)
    time.sleep(0.0005)
