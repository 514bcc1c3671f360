# One file of very many names: as long to look through as that many files.
import os, time

directory = count = 0
while count < 600_000:
    if count % 50_000 == 0:
        directory += 1
        os.mkdir(f"/workspace/hog{directory}")
        first = f"/workspace/hog{directory}/0"
        os.close(os.open(first, os.O_CREAT))
    count += 1
    os.link(first, f"/workspace/hog{directory}/{count}")
print("still there", flush=True)
