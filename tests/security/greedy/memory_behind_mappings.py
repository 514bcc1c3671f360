# Children of very many mappings, which take long to look at, share what they have: others take what nobody has left.
import ctypes, mmap, os, time

libc = ctypes.CDLL(None, use_errno=True)
PAGE, MAPPINGS = 4096, 60_000
parted = mmap.mmap(-1, MAPPINGS * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
address = ctypes.addressof(ctypes.c_char.from_buffer(parted))
for page in range(0, MAPPINGS, 2):
    libc.mprotect(ctypes.c_void_p(address + page * PAGE), ctypes.c_size_t(PAGE), 1)
shared = b"x" * (40 << 20)
for _ in range(30):
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
time.sleep(4)
large = []
for _ in range(4):
    ready, written = os.pipe()
    large.append(os.fork())
    if large[-1] == 0:
        own = b"x" * (400 << 20)
        os.write(written, b"x")
        time.sleep(4)
        os._exit(0)
    os.close(written)
    os.read(ready, 1)
ends = [os.waitpid(pid, 0)[1] for pid in large]
print("still there" if not any(ends) else "ended", flush=True)
