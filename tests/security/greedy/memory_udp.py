# Datagrams that nobody reads.
import os, socket, time

kept = []


def fill():
    reader = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 20)
    reader.bind(("127.0.0.1", 0))
    kept.append(reader)
    for _ in range(200):
        reader.sendto(b"x" * 16000, reader.getsockname())
    print("at", time.time(), flush=True)


for _ in range(8):
    if os.fork() == 0:
        for _ in range(100):
            fill()
        time.sleep(60)
        os._exit(0)
while True:
    os.wait()
