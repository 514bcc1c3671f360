# Page tables: each byte that is read of memory which nobody has written takes one of a page.
import ctypes, mmap, os, time

STEP = 2 << 20
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
NORESERVE, NOHUGEPAGE = 0x4000, 15
tables = 0
while True:
    address = libc.mmap(None, 512 * STEP, mmap.PROT_READ, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE, -1, 0)
    libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(512 * STEP), NOHUGEPAGE)
    for number in range(512):
        ctypes.c_char.from_address(address + number * STEP).value
    tables += 512 * 4096
    if tables <= 128 << 20:
        print("at", time.time(), flush=True)
    time.sleep(0.01)
