# Files without a name, held by a process whose first thread has ended.
import ctypes, os, threading, time

EXIT_OF_ONE_THREAD = 60


def fill():
    time.sleep(0.2)
    for megabyte in range(10_000):
        if megabyte % 8 == 0:
            file = os.open("/workspace/hog", os.O_WRONLY | os.O_CREAT)
            os.unlink("/workspace/hog")
        os.write(file, b"x" * (1 << 20))
        if megabyte < 20:
            os.write(1, b"at %f\n" % time.time())
        time.sleep(0.005)


if os.fork() == 0:
    threading.Thread(target=fill).start()
    ctypes.CDLL(None).syscall(EXIT_OF_ONE_THREAD, 0)
os.wait()
time.sleep(60)
