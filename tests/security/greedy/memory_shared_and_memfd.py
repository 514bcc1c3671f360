# Half of it mapped and without a name, half of it in files that no process maps.
import mmap, os, time

kept = []
while True:
    piece = mmap.mmap(-1, 2 << 20)
    piece.write(b"x" * (2 << 20))
    file = os.memfd_create("hog")
    os.write(file, b"x" * (2 << 20))
    kept += [piece, file]
    if len(kept) * (2 << 20) <= 140 << 20:
        print("at", time.time(), flush=True)
    time.sleep(0.002)
