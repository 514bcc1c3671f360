"""Runners of tests are copies of this: see runner_forks.py. Its standard input is the socket to the test."""

import sys

BEGIN = set(sys.modules)

import os  # noqa: E402

RUNNERS = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../sandbox/runners"))
MESSAGE_BYTES = 64 * 1024


def preloaded():
    """As the zygote has it: its stash, and the modules of the runners."""
    sys.path[0] = os.path.join(RUNNERS, "zygote")
    import preload

    preload.INSIDE = RUNNERS
    return preload.everything(RUNNERS, BEGIN)


def serve(channel):
    """Returns in each copy, with what it is to be."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready = select.select([channel, read], [], [])[0]
        if read in ready:
            os.read(read, 4096)
            reap(channel)
        if channel not in ready:
            continue
        text, descriptors, _, _ = socket.recv_fds(channel, MESSAGE_BYTES, 8)
        if not text:
            os._exit(0)
        pid = os.fork()
        if pid == 0:
            return json.loads(text), descriptors
        for fd in descriptors:
            os.close(fd)
        channel.send(json.dumps({"started": pid}).encode())


def reap(channel):
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        channel.send(json.dumps({"ended": pid, "status": os.waitstatus_to_exitcode(status)}).encode())


def become(request, descriptors):
    """A process as a start would have made it."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    high = [os.dup2(fd, 100 + place, inheritable=False) for place, fd in enumerate(descriptors)]
    os.closerange(0, 100)
    for place, fd in enumerate(high):
        os.dup2(fd, place)
        os.close(fd)
    os.chdir(request["cwd"])


def main():
    stash, runners = preloaded()
    import child

    kept = set(sys.modules)
    global json, select, signal, socket
    import json, select, signal, socket  # noqa: E401  copies of our own, which go again

    channel = socket.socket(fileno=os.dup(0))
    request, descriptors = serve(channel)
    channel.detach()
    become(request, descriptors)
    environment = [os.fsencode(f"{name}={value}") for name, value in request["environment"].items()]
    program = f"/run/hutch/runners/{request['language']}/runner.py"
    arguments = [os.fsencode(sys.executable), program.encode()]
    for name in set(sys.modules) - kept:
        del sys.modules[name]
    child.go_on(arguments, environment, stash, runners)


if __name__ == "__main__":
    main()
