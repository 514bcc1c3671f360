"""Results for code of another language, which asked for rows and not for something to look at.

The last table goes out as frames {"type":"rows","columns"?,"rows"}; what JSON has no value for is an
object with one member: {"integer":"…"}, {"bytes":base64}, {"real":"inf"}.
"""

from hutch_runner.plain_json import INTEGER_EXACT_MAX, plain
from hutch_runner.tables import without_types

ROWS_AT_ONCE = 1000
FRAME_CHARACTERS_GOOD = 4 << 20


class RowFrames:
    is_for_code = True

    def __init__(self, channel):
        self._channel = channel

    def add_table(self, table, _path):
        # Each table begins anew: the receiver keeps the last.
        columns = [{"name": name, "type": kind} for name, kind in zip(table.names, table.types)]
        self._channel.send({"type": "rows", "columns": columns, "rows": []})
        for rows in table.batches(ROWS_AT_ONCE):
            part, size = [], 0
            for row in rows:
                part.append([to_code(value) for value in row])
                size += sum(len(v) if isinstance(v, (str, bytes)) else 8 for v in row)
                if size > FRAME_CHARACTERS_GOOD:
                    self._channel.send({"type": "rows", "rows": part})
                    part, size = [], 0
            self._channel.send({"type": "rows", "rows": part})

    def add_line(self, line):
        pass

    def finish(self):
        pass


def to_code(value):
    if isinstance(value, (bytes, bytearray, memoryview)):
        from base64 import b64encode
        return {"bytes": b64encode(bytes(value)).decode()}
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) > INTEGER_EXACT_MAX:
        return {"integer": str(value)}
    if isinstance(value, float) and not abs(value) < float("inf"):
        return {"real": str(value)}
    return plain(without_types(value))
