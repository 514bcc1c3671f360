"""Finds what code of a box can find of the channel between its interpreter and hutch-box: text to put before a run's code."""

CHANNEL = """
import fcntl, os, stat, time
inodes = {fd: os.fstat(fd).st_ino for fd in range(1, 1024) if os.path.exists(f'/proc/self/fd/{fd}')
          and stat.S_ISFIFO(os.fstat(fd).st_mode)}
ways = {fd: fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE for fd in inodes if inodes[fd] not in (inodes[1], inodes[2])}
reads, writes = (next((fd for fd in ways if ways[fd] == way), None) for way in (os.O_RDONLY, os.O_WRONLY))
"""

SEND = """
import gc, json, struct
run_id = next(one for one in gc.get_objects() if type(one).__name__ == 'Channel')._run_id
def frame(message):
    text = json.dumps(message).encode()
    return struct.pack('<IB', len(text), ord('J')) + text
def send(message): os.write(writes, frame(message))
"""
