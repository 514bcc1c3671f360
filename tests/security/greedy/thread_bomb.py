# Threads until one is refused; those that there are end by themselves.
import threading, time

while True:
    threading.Thread(target=time.sleep, args=(1,)).start()
    print("at", time.time(), flush=True)
