# Files without names: one descriptor each, in several processes.
import os, time

read_end, write_end = os.pipe()
for _ in range(10):
    if os.fork() == 0:
        for number in range(90):
            fd = os.open(f"/workspace/hog{os.getpid()}.{number}", os.O_CREAT | os.O_WRONLY)
            os.unlink(f"/workspace/hog{os.getpid()}.{number}")
        os.write(write_end, b"1")
        time.sleep(60)
    os.read(read_end, 1)
    if _ < 6:
        print("at", time.time(), flush=True)
time.sleep(60)
