"""The channel: frames between a runner and the host (the format is in ../README.md)."""

import os
import select
from _thread import RLock

from hutch_runner.descriptors import out_of_the_way
from hutch_runner.json_text import decode as _decode
from hutch_runner.json_text import encode_for_host as _encode

FRAME_BYTES_MAX = 32 << 20  # that is taken: parameters of hutch.sql() may be long; the host sends less
HEAD_BYTES = 5
JSON_BYTES_MAX = 4 << 20  # for one frame
PART_BYTES = 4 << 20
INLINE_CHARACTERS = 100_000  # for one form of an output; more goes ahead of it, in parts
SHOWN_CHARACTERS = 20_000  # as much of a long text is shown, besides
PROSE = ("text", "markdown")  # half of it still says something

# Bound now: user code may replace anything in the modules it can import.
_read, _write, _close = os.read, os.write, os.close


class ChannelClosed(Exception):
    """The host has gone, or speaks something that is no frame; `str()` says which."""


class Channel:
    """One runner's ends: two pipes. Belongs to the process that made it; a forked child loses it."""

    def __init__(self, reads=3, writes=4):
        self.fd, self._writes = out_of_the_way(reads), out_of_the_way(writes)
        self._run_id = None
        # Threads display too, and an output may be several frames. Whoever sends where an interrupt may
        # raise holds it back meanwhile (Interrupts.shield), else the lock would stay.
        self._sending = RLock()
        # Two, since a signal handler asks while wait() is on, and poll objects refuse that.
        self._poll, self._probe = select.poll(), select.poll()
        self._poll.register(self.fd, select.POLLIN)
        self._probe.register(self.fd, select.POLLIN)
        os.register_at_fork(after_in_child=self._abandon)

    def _abandon(self):
        if self.fd >= 0:  # not a child's child
            _close(self.fd)
            _close(self._writes)
        self.fd = self._writes = -1
        self._sending = RLock()  # its owner may be a thread that the child does not have

    def wait(self, other=-1, seconds=None):
        """Blocks until there is something to read; False when it is on the descriptor `other` only, None when so
        many seconds are over."""
        if other >= 0:
            self._poll.register(other, select.POLLIN)
        try:
            ready = self._poll.poll(None if seconds is None else seconds * 1000)
            return any(fd == self.fd for fd, _ in ready) if ready else None
        finally:
            if other >= 0:
                self._poll.unregister(other)

    def readable(self):
        return self.fd >= 0 and bool(self._probe.poll(0))

    def receive(self):
        """The next JSON message; blobs before it are dropped (the host sends none)."""
        while True:
            head = self._read_exactly(HEAD_BYTES)
            size, kind = int.from_bytes(head[:4], "little"), head[4:]
            if size > FRAME_BYTES_MAX or kind not in (b"J", b"B"):
                raise ChannelClosed("not a frame")
            payload = self._read_exactly(size)
            if kind == b"B":
                continue
            try:
                message = _decode(payload.decode("utf-8"))
            except (ValueError, RecursionError):
                raise ChannelClosed("a frame that is not JSON") from None
            if not isinstance(message, dict):
                raise ChannelClosed("a frame that is not a JSON object")
            if message.get("type") == "run":
                self._run_id = message.get("run_id")
            return message

    def _read_exactly(self, size):
        parts = []
        while size:
            try:
                part = _read(self.fd, min(size, 1 << 20))
            except OSError:
                part = b""
            if not part:
                raise ChannelClosed("closed")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def send(self, message, blob=None):
        """Sends a message of the last run; `blob` are bytes that belong to it. Does nothing in a forked child."""
        if self.fd < 0:
            return
        message = {**message, "run_id": self._run_id}
        # Lone surrogates (file names that are no UTF-8) would make the frame invalid.
        text = _encode(message).encode("utf-8", "replace")
        frames = b"" if blob is None else len(blob).to_bytes(4, "little") + b"B" + bytes(blob)
        frames += len(text).to_bytes(4, "little") + b"J" + text
        view = memoryview(frames)
        with self._sending:
            while view:
                view = view[_write(self._writes, view):]

    def send_output(self, output, picture=None, files=()):
        """Sends an output and its picture; what is too long for a message as parts that come before.

        `files` are pairs of a form and an open binary file with it."""
        output, parts = _without_long_forms(output)
        message = {"type": "output", "output": output}
        if picture is not None:
            message["image"] = {"mime_type": "image/png"}
        with self._sending:
            for form, content in parts:
                for start in range(0, len(content), PART_BYTES):
                    self.send({"type": "part", "format": form}, content[start:start + PART_BYTES])
            for form, file in files:
                while chunk := file.read(PART_BYTES):
                    self.send({"type": "part", "format": form}, chunk)
            self.send(message, picture)


class EncodedJson:
    """A value that is JSON text already, and long: nobody has to read it to pass it on."""

    def __init__(self, text):
        self.text = text


class ShortText(str):
    """The shown part of a text that is `whole` besides, for a file."""

    def __new__(cls, text, whole):
        made = super().__new__(cls, text)
        made.whole = whole
        return made


def _without_long_forms(output):
    """The output as it fits a message, and the long forms: pairs of name and bytes."""
    output, parts = dict(output), []
    for form, content in list(output.items()):
        if form == "json":
            text = content.text if isinstance(content, EncodedJson) else _encode(content)
            long = len(text) > INLINE_CHARACTERS or isinstance(content, EncodedJson)
        else:
            text, long = content, isinstance(content, str) and (form == "csv" or len(content) > INLINE_CHARACTERS)
        if isinstance(content, ShortText):
            parts.append((form, content.whole.encode("utf-8", "replace")))
        elif long:
            parts.append((form, text.encode("utf-8", "replace")))
            if form in PROSE:
                output[form] = cut(text, SHOWN_CHARACTERS)
            else:
                del output[form]
    if "chart" in output and len(_encode(output["chart"])) > JSON_BYTES_MAX * 3 // 4:
        del output["chart"]  # the host would take no such frame
    return output, parts


def cut(text, limit):
    """`text` with at most about `limit` characters: head and tail, and what was left out."""
    if len(text) <= limit:
        return text
    head, tail = limit * 3 // 4, limit // 4
    left_out = len(text) - head - tail
    return f"{text[:head]}\n... [{left_out:,} characters left out] ...\n{text[-tail:]}"
