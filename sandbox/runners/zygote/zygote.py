"""The zygote: a Python that has imported what sessions use, and forks itself into their boxes.

Started by a server as `python3 zygote.py hutch-zygote.so DIRECTORY`, on the host, with variables built
from nothing, the server's connection as descriptor 3 and the runtime directory as 4; for an environment
the lock on it is 5. Only one runs in a runtime directory. When everything is imported, hutch-zygote.so (sandbox/init/zygote.cc) takes
over: nothing of a session ever reaches this process but the two descriptors that it hands on. The
call returns in the interpreters of boxes, which go on in child.py.
"""

import sys

BEGIN = set(sys.modules)  # every Python has these

# All that this file needs: what it imported once the others are set aside, copies would have twice.
import _socket  # noqa: E402
import ctypes  # noqa: E402
import fcntl  # noqa: E402
import gc  # noqa: E402
import os  # noqa: E402

ATTACHED, DIRECTORY, ENVIRONMENT = 3, 4, 5
HERE = os.path.dirname(os.path.abspath(__file__))
WATCHED_MAX = 31  # zygote.cc remembers so many
MADV_COLLAPSE = 25  # Linux 6.1; madvise(2)
HUGE_PAGE_BYTES = 2 << 20


def main():
    lock = os.open("zygote.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600, dir_fd=DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return  # another one is there
    library = ctypes.PyDLL(sys.argv[1])
    library.hutch_zygote.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_char_p))
    for strings in (library.hutch_arguments, library.hutch_environment):
        strings.restype = ctypes.POINTER(ctypes.c_char_p)
    # matplotlib keeps its list of fonts there.
    os.environ["MPLCONFIGDIR"] = os.path.join(sys.argv[2], "matplotlib")
    sys.path[0] = HERE
    import child
    import preload

    stash, runners = preload.everything(os.path.dirname(HERE), BEGIN)
    watched = (ctypes.c_char_p * (WATCHED_MAX + 1))(*watched_files(runners))
    listening = listen()
    gc.collect()
    gc.freeze()  # else a collection in a copy would touch, and so copy, every page
    use_huge_pages()
    refuse_leftovers({0, 1, 2, ATTACHED, DIRECTORY, ENVIRONMENT, lock, listening.fileno()})
    print("warm:", preload.versions(stash), file=sys.stderr, flush=True)
    if library.hutch_zygote(listening.fileno(), ATTACHED, watched) == 0:
        os.unlink("zygote.sock", dir_fd=DIRECTORY)
        return
    child.go_on(list_of(library.hutch_arguments()), list_of(library.hutch_environment()), stash, runners)




def use_huge_pages():
    """For what packages have in memory: a fork copies no page table for it, and the end of a copy frees none.
    What a copy writes to is still copied by 4 KiB."""
    madvise = ctypes.CDLL(None).madvise
    with open("/proc/self/maps") as file:
        for line in file:
            place, access, _, _, inode = line.split()[:5]
            begin, end = (int(one, 16) for one in place.split("-"))
            begin, end = -(-begin // HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES, end // HUGE_PAGE_BYTES * HUGE_PAGE_BYTES
            if access == "rw-p" and inode == "0" and begin < end:
                for at in range(begin, end, HUGE_PAGE_BYTES):
                    madvise(ctypes.c_void_p(at), ctypes.c_size_t(HUGE_PAGE_BYTES), MADV_COLLAPSE)


def refuse_leftovers(expected):
    """Refuses threads and descriptors of packages: copies would have neither."""
    if len(os.listdir("/proc/self/task")) != 1:
        sys.exit("a package has started threads: no zygote")
    links = [(fd, os.readlink(f"/proc/self/fd/{fd}")) for fd in os.listdir("/proc/self/fd")
             if int(fd) not in expected and os.path.exists(f"/proc/self/fd/{fd}")]
    if links:
        sys.exit(f"a package keeps descriptors open: no zygote: {links}")


def watched_files(runners):
    """Returns files that are replaced when packages, Python or hutch are: then this process is out of date."""
    files = [os.path.realpath(sys.executable), sys.argv[1], HERE, *runners.folders]
    files += [path for path in sys.path if os.path.isdir(path)]
    return [os.fsencode(path) for path in files[:WATCHED_MAX]]


def listen():
    # Through /proc: the path of the directory may be longer than an address can be.
    address = f"/proc/self/fd/{DIRECTORY}/zygote.sock"
    try:
        os.unlink(address)  # left by one that was killed: the lock is ours
    except FileNotFoundError:
        pass
    listening = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    listening.setblocking(False)
    before = os.umask(0o177)
    listening.bind(address)
    os.umask(before)
    listening.listen(512)
    return listening


def list_of(pointer):
    strings = []
    while pointer[len(strings)] is not None:
        strings.append(pointer[len(strings)])
    return strings


if __name__ == "__main__":
    main()
