"""A bundle as its client starts it: it answers, and has the folder that was chosen.

    bundle.py COMMAND...     with a folder in which t.csv says a,b
"""

import sys

from upgrade import Server

server = Server(*sys.argv[1:])
run = server.call("run_code", code="print(6 * 7, open('/mnt/tables/t.csv').read())")
assert run["stdout"] == "42 a,b\n\n", run
server.end()
