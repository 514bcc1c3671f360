"""Times a Jupyter kernel, in the Python that has it: other_sandboxes.py starts this.

Takes lines of JSON, ["first"|"warm", code, times], and answers with a list of seconds. An answer
counts when the kernel has said both what the code showed and that it is idle again, as a front end
waits for it.
"""

import json
import sys
import time

from jupyter_client.manager import KernelManager


def start():
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    return manager, client


def execute(client, code):
    request = client.execute(code)
    while True:
        message = client.get_iopub_msg(timeout=60)
        if message["parent_header"].get("msg_id") != request:
            continue
        if message["msg_type"] == "error":
            raise SystemExit(message["content"]["evalue"])
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            break
    while client.get_shell_msg(timeout=60)["parent_header"].get("msg_id") != request:
        pass


def stop(manager, client):
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def main():
    kept = start()
    for line in sys.stdin:
        what, code, times = json.loads(line)
        taken = []
        for _ in range(times):
            begin = time.monotonic()
            if what == "first":
                manager, client = start()
                execute(client, code)
                taken.append(time.monotonic() - begin)
                stop(manager, client)
            else:
                execute(kept[1], code)
                taken.append(time.monotonic() - begin)
        print(json.dumps(taken), flush=True)
    stop(*kept)


if __name__ == "__main__":
    main()
