"""Shows the outputs of a run of SQL."""

import os

from hutch_runner.channel import cut
from hutch_runner.tables import make_output


class Outputs:
    """The outputs of a run. The last table is the main result; without one, the last text."""

    is_for_code = False

    def __init__(self, channel):
        self._channel = channel
        self._held = []  # from the last table on
        self._lines = []

    def add_table(self, table, path):
        self._flush_lines()
        self._send(is_main_result=False)
        self._held = [table.output(path)]

    def add_line(self, line):
        if not line:
            return
        if self._lines and self._lines[-1][0] == line:
            self._lines[-1][1] += 1  # a script of a thousand INSERTs is one line
        else:
            self._lines.append([line, 1])

    def finish(self):
        self._flush_lines()
        self._send(is_main_result=True)

    def _flush_lines(self):
        if self._lines:
            text = "\n".join(f"{line} (x{count})" if count > 1 else line for line, count in self._lines)
            self._held.append(make_output(cut(text, 20_000)))
            self._lines = []

    def _send(self, is_main_result):
        main = next((one for one in self._held if "json" in one), None)
        if main is None and self._held:
            main = self._held[-1]
        for output in self._held:
            output["is_main_result"] = is_main_result and output is main
            self._send_one(output)
        self._held = []

    def _send_one(self, output):
        path = output.pop("csv", None)  # the whole table; the host keeps it
        if path is None:
            return self._channel.send_output(output)
        try:
            with open(path, "rb") as file:
                return self._channel.send_output(output, files=[("csv", file)])
        finally:
            os.unlink(path)
