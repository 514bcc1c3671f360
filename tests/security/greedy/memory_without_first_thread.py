# The first thread of a process ends and another goes on: /proc tells of such a one by its threads only.
import ctypes, mmap, os, threading, time

EXIT_OF_ONE_THREAD = 60


def fill():
    kept = []
    time.sleep(0.2)
    while True:
        piece = mmap.mmap(-1, 4 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        piece.write(b"x" * (4 << 20))
        kept.append(piece)
        os.write(1, b"at %f\n" % time.time())
        time.sleep(0.005)


if os.fork() == 0:
    threading.Thread(target=fill).start()
    ctypes.CDLL(None).syscall(EXIT_OF_ONE_THREAD, 0)
os.wait()
time.sleep(60)
