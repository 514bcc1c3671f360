# A hash for futexes in each of many processes: a gigabyte of the kernel's for one call, charged to nobody (Linux 6.16).
# Says how many were got, and keeps them.
import ctypes, os, time

PR_FUTEX_HASH, SET_SLOTS, SLOTS, PROCESSES = 78, 1, 1 << 24, 6
libc = ctypes.CDLL(None)
said, says = os.pipe()
for _ in range(PROCESSES):
    if os.fork() == 0:
        os.write(says, b"1" if libc.prctl(PR_FUTEX_HASH, SET_SLOTS, SLOTS, 0, 0) == 0 else b"0")
        time.sleep(60)
        os._exit(0)
answers = b""
while len(answers) < PROCESSES:
    answers += os.read(said, PROCESSES)
print("hashes", answers.count(b"1"), flush=True)
time.sleep(60)
