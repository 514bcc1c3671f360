# Many descriptors make every look for files without a name slow; what is written between two looks is seen.
import os, time

for _ in range(200):
    if os.fork() == 0:
        for _ in range(990):
            os.open("/dev/null", os.O_RDONLY)
        time.sleep(60)
        os._exit(0)
time.sleep(10)
kept = []
for number in range(25 if WRITES else 0):
    name = f"/workspace/hog{number}"
    kept.append(os.open(name, os.O_WRONLY | os.O_CREAT))
    if NAMELESS:
        os.unlink(name)
    for _ in range(10):
        os.write(kept[-1], b"x" * (1 << 20))
print("written", flush=True)
time.sleep(7)
print("still there", flush=True)
