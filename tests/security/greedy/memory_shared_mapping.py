# An anonymous shared mapping: shared memory without a name.
import mmap, time

kept = []
while True:
    piece = mmap.mmap(-1, 4 << 20)
    piece.write(b"x" * (4 << 20))
    kept.append(piece)
    print("at", time.time(), flush=True)
