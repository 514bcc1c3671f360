# Much waits in TCP sockets, though less than a quarter of the session's memory.
import os, socket, time

kept = []
for child in range(8):
    if os.fork() == 0:
        sent = 0
        while sent < MEGABYTES << 17:
            listener = socket.create_server(("127.0.0.1", 0))
            writer = socket.create_connection(listener.getsockname())
            reader, _ = listener.accept()
            writer.setblocking(False)
            kept += [writer, reader]
            listener.close()
            tries = 0
            while tries < 20:
                try:
                    sent += writer.send(b"x" * 65536)
                except BlockingIOError:
                    tries += 1
                    time.sleep(0.001)
        time.sleep(8)
        os._exit(0)
for _ in range(8):
    os.wait()
print("still there", flush=True)
