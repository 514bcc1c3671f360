"""One session's database: receives runs, executes them statement by statement, answers."""

import os
import re
import sys
from time import time_ns

from hutch_runner.channel import Channel, ChannelClosed, cut
from hutch_runner.engine import open_engine
from hutch_runner.interrupts import Interrupts
from hutch_runner.outputs import Outputs
from hutch_runner.python_frames import PythonFrames
from hutch_runner.row_frames import RowFrames
from hutch_runner.streams import Streams
from hutch_runner.tables import Table

MESSAGE_CHARACTERS_MAX = 4_000
INTERRUPTED = 130


def serve():
    """Answers runs until the host closes the channel. Does not return."""
    channel = Channel()
    session = Session(channel)
    try:
        session.serve()
    except ChannelClosed as reason:
        session.close()
        os._exit(0 if str(reason) == "closed" else 1)


class StatementError(Exception):
    """A statement that failed: the engine's error and which statement it was."""

    def __init__(self, error, statement):
        super().__init__(str(error))
        self.error = error
        self.statement = statement


class Session:
    def __init__(self, channel):
        self.channel = channel
        self.streams = Streams()
        self.run_id = ""
        self.state_folder = os.environ.get("HUTCH_STATE_DIR", "/run/hutch/state")
        self.engine = None
        self.why_no_engine = self.open_engine()
        self.interrupts = Interrupts(channel)
        self.interrupts.instead = self.interrupt

    def open_engine(self):
        """Returns what went wrong, or None."""
        try:
            self.engine = open_engine(PythonFrames)
        except Exception as failure:  # no room for the file, or a file that is none
            return failure
        return None

    def close(self):
        if self.engine is not None:
            self.engine.close()

    def serve(self):
        version = f"{self.engine.name} {self.engine.version}" if self.engine else ""
        self.channel.send({"type": "ready", "language": "sql", "version": version, "interrupt": "signal"})
        while True:
            self.channel.wait()
            self.interrupts.run_is_starting()
            message = self.channel.receive()
            if message.get("after_interrupt"):
                self.interrupts.forget()
            if message.get("type") == "run":
                self.answer(message)
            else:
                self.interrupts.run_is_over()  # answer() does so itself, before it says "done"

    def interrupt(self, _frame):
        # Raising inside the engine would be swallowed there: it stops the statement itself.
        if self.engine is not None:
            self.engine.interrupt()
        return True

    def answer(self, message):
        if self.engine is None:
            self.why_no_engine = self.open_engine()
        if self.engine is None:
            done = failed(type(self.why_no_engine).__name__, str(self.why_no_engine))
            print(done["error"]["traceback"], end="", file=sys.stderr)
            self.streams.flush()
            self.interrupts.run_is_over()
            self.channel.send(done)
            return
        self.answer_with_engine(message)

    def answer_with_engine(self, message):
        self.run_id = re.sub(r"[^\w-]", "", str(message.get("run_id", "run")))
        was_in_transaction = self.engine.in_transaction
        self.engine.interrupted = False
        outputs = RowFrames(self.channel) if message.get("rows") is True else Outputs(self.channel)
        done = {"type": "done", "ok": True, "exit_code": 0, "interrupted": False}
        waited_for = ""
        began_us = time_ns() // 1000
        try:
            self.interrupts.guard(lambda: self.execute(message, outputs))
        except KeyboardInterrupt as stop:
            done = failed("KeyboardInterrupt", "the run was interrupted", INTERRUPTED)
            waited_for = str(stop)
        except StatementError as failure:
            done = self.describe(failure)
        except Exception as failure:  # a defect of ours must not end the session
            done = failed(type(failure).__name__, str(failure))
        ended_us = time_ns() // 1000
        if not done["ok"] and not outputs.is_for_code:
            print(done["error"]["traceback"], end="", file=sys.stderr)
        note = self.note_of_transaction(done["ok"], was_in_transaction, message.get("background"))
        outputs.finish()
        self.engine.interrupted = False
        if notes := [one for one in (waited_for, note, *self.engine.take_notes()) if one]:
            done["note"] = "; ".join(notes)
        self.engine.end()
        self.streams.flush()
        self.interrupts.run_is_over()
        self.channel.send({**done, "holds_state": self.engine.holds_state(), "began_us": began_us, "ended_us": ended_us})

    def note_of_transaction(self, is_ok, was_in_transaction, is_background):
        if not is_ok and was_in_transaction and not self.engine.in_transaction:
            return "the open transaction was rolled back; committed data is kept"
        if not is_ok and self.engine.is_aborted:
            return "the open transaction is aborted by that: ROLLBACK it, and begin again"
        if not self.engine.in_transaction:
            return ""
        if is_background:
            return "a transaction was still open: it ends with this background run, and nothing of it is kept"
        # Others would wait for it in vain, and what the next runs change would be lost with the session.
        return f"a transaction is still open: COMMIT or ROLLBACK it; until then other languages {self.engine.others_meanwhile}"

    def execute(self, message, outputs):
        code, parameters = str(message.get("code", "")), values_of(message.get("parameters"))
        statement = None
        try:
            if message.get("directory"):  # with the first run
                os.chdir(str(message["directory"]))
            self.engine.begin()
            statements = self.engine.statements(code)
            if parameters:
                statements = list(statements)
                if len(statements) != 1:
                    raise ValueError("parameters need a single statement")
            for statement in statements:
                self.engine.check_interrupt()
                self.execute_statement(statement, parameters, outputs)
        except self.engine.errors as error:
            interrupted = self.engine.interrupted
            if statement is not None:
                self.engine.failed(None if interrupted else error)
            if interrupted:
                raise KeyboardInterrupt from None
            raise StatementError(error, statement) from None

    def execute_statement(self, statement, parameters, outputs):
        answer = self.engine.execute(statement, parameters)
        if answer.rows is None:
            outputs.add_line(statement.summary(answer.count))
            return
        try:
            path = os.path.join(self.state_folder, "results", f"{self.run_id}-{statement.number}.csv")
            outputs.add_table(Table(answer, self.engine.check_interrupt), path)
        finally:
            answer.close()

    def describe(self, failure):
        kind = type(failure.error)
        module = kind.__module__.lstrip("_")
        name = kind.__name__ if module == "builtins" else f"{module}.{kind.__name__}"
        try:
            place = self.engine.place_of(failure.error, failure.statement)
        except Exception:  # it looks at the user's data: what fails there is not to end the session
            place = ""
        return failed(name, self.engine.message_of(failure.error), place=place)


def values_of(parameters):
    """Turns what to_code() of row_frames.py has made of values back into values."""
    if isinstance(parameters, dict):
        return {name: value_of(value) for name, value in parameters.items()}
    return [value_of(value) for value in parameters] if isinstance(parameters, list) else ()


def value_of(value):
    if isinstance(value, dict) and isinstance(value.get("bytes"), str):
        from base64 import b64decode
        return b64decode(value["bytes"])
    if isinstance(value, dict) and isinstance(value.get("moment"), str):
        return moment_of(value["moment"])
    if isinstance(value, dict) and isinstance(value.get("integer"), str):
        return int(value["integer"][:40])
    return value


def moment_of(text):
    """A Date of JavaScript, in UTC as columns have it. Python's own end with the year 9999."""
    from datetime import datetime
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return text


def failed(name, message, exit_code=1, place=""):
    # Both have the same words: the host tells them once.
    message = cut(message, MESSAGE_CHARACTERS_MAX)
    traceback = f"{name}: {message}\n{place}"
    return {"type": "done", "ok": False, "exit_code": exit_code,
            "interrupted": exit_code == INTERRUPTED,
            "error": {"name": name, "message": message + place_in_words(place),
                      "traceback": cut(traceback, 10 * MESSAGE_CHARACTERS_MAX)}}


def place_in_words(place):
    lines = place.split("\n")[:2]  # without the mark under it
    return f" ({' '.join(' '.join(lines).split())})" if place else ""
