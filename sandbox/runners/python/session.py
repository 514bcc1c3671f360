"""One session's interpreter: receives runs, executes them as cells, answers."""

import builtins
import os
import sys
from time import time_ns

from hutch_runner import (
    absent_programs, adapted_libraries, cells, class_sources, data_limit, display, endings, figures, frame_runs, hutch_module, imported_files, installs, late_threads,
    library_charts, notebook, process_mains, script_end, shown, snapshots, standard_modules, text_fonts, tracebacks, workbook_formulas)
from hutch_runner.channel import Channel, ChannelClosed
from hutch_runner.frame_server import FrameServer
from hutch_runner.imports import WhenImported
from hutch_runner.interrupts import Interrupts
from hutch_runner.streams import Streams
from hutch_runner.user_packages import UserPackages

_environ = os.environ  # user code may put something else in its place
_exit_process = os._exit


def serve():
    """Answers runs until the host closes the channel. Does not return."""
    session = Session(Channel())
    try:
        session.serve()
    except ChannelClosed as reason:
        # At once: threads and exit handlers of user code have no say in it.
        session.streams.flush()
        _exit_process(0 if str(reason) == "closed" else 1)


class Session:
    def __init__(self, channel):
        self.pid = os.getpid()
        self.channel = channel
        self.interrupts = Interrupts(channel)
        self.packages = UserPackages()
        self.streams = Streams()
        self.late_threads = late_threads.LateThreads(self.streams)
        self.namespace = make_main_module()
        self.shown = shown.Shown(self.send_output, lambda output: self.figures.forget_but(output))
        self.notebook = notebook.Notebook(self.namespace, self.display, self.emit_bundle, self.shown.clear)
        self.cells = cells.Cells(self.namespace, self.interrupts, self.notebook)
        self.cells.when_compiled = process_mains.ProcessMains(self.cells).renew
        self.figures = figures.Figures(self.shown.add)
        self.frames = FrameServer(self.namespace)
        self.snapshots = snapshots.Snapshots(self.namespace, self.cells, frame_runs.is_library)
        standard_modules.install()
        cells.keep_lines()
        hutch_module.install(self.interrupts)
        library_charts.watch(self.display)
        tracebacks.keep_runner_out_of_warnings()
        imported_files.watch(frame_runs.is_library)
        class_sources.watch()
        adapted_libraries.watch()
        self.notes = endings.Notes(self.cells, self.packages, absent_programs.AbsentPrograms(), text_fonts.TextFonts(),
                                   workbook_formulas.WorkbookFormulas())
        builtins.display = self.display
        builtins.input = ask
        WhenImported("getpass", watch_passwords)

    def serve(self):
        version = ".".join(map(str, sys.version_info[:3]))
        self.snapshots.wake()
        self.channel.send({"type": "ready", "language": "python", "version": version,
                           "interrupt": "signal"})
        while True:
            heard = self.channel.wait(self.frames.fileno(), self.snapshots.seconds_left())
            if not heard:
                self.snapshots.write() if heard is None else self.frames.answer()
                continue
            self.interrupts.run_is_starting()
            message = self.channel.receive()
            if message.get("after_interrupt"):
                self.interrupts.forget()
            if message.get("type") == "run":
                self.answer(message)
            else:
                self.interrupts.run_is_over()  # answer() does so itself, before it says "done"
            if message.get("type") == "reap":
                endings.reap_children()
            elif message.get("type") == "store":
                self.snapshots.store(message)

    def answer(self, message):
        if not message.get("background"):
            self.frames.run_begins(str(message.get("run_id", "")))
        data_limit.renew()
        installs.begin(message)
        self.packages.look()
        self.snapshots.run_begins()
        self.streams.renew()
        self.late_threads.run_begins(str(message.get("run_id", "")))
        before = enter_environment(message.get("env"))
        self.figures.begin()
        self.shown.begin(str(message.get("code", "")))
        began_us = time_ns() // 1000
        failure = self.attempt(lambda: self.execute(str(message.get("code", "")), message.get("directory")))
        ended_us = time_ns() // 1000
        if os.getpid() != self.pid:
            self.leave_child(failure)
        # Figures of a failed run are shown too: they were drawn before it failed.
        of_figures = self.attempt(lambda: self.cells.context.run(self.figures.end))
        of_outputs = self.attempt(self.send_held)
        library_charts.run_is_over()
        failure = failure or of_figures or of_outputs
        self.interrupts.install()
        done = self.describe_end(failure)
        # Its frames lead back to this one: a circle that would keep what the failed code held open.
        failure = of_figures = of_outputs = None
        self.streams.flush()
        if message.get("background"):
            done = self.end_as_script(done)
        else:
            done = self.with_notes(done, str(message.get("run_id", "")))
        restore_environment(before)
        self.interrupts.run_is_over()
        self.channel.send({**done, "began_us": began_us, "ended_us": ended_us})
        self.frames.run_is_over()
        self.snapshots.run_is_over(str(message.get("run_id", "")))

    def with_notes(self, done, run_id):
        of_state, pieces = self.snapshots.take_note()
        of_threads = self.late_threads.run_is_over(run_id)
        done = self.notes.add_to(done, of_state, of_threads)
        return {**done, **({"of_state": pieces} if of_state else {})}

    def attempt(self, action):
        """Runs `action`; gives back what it raised, or None."""
        try:
            self.interrupts.guard(action)
        except BaseException as failure:  # SystemExit and KeyboardInterrupt are answers too
            return failure
        return None

    def end_as_script(self, done):
        """A background run is a program of its own: like a script, it ends when its threads have, and cleans up then."""
        interrupt = script_end.QuietInterrupt()
        steps = [script_end.run_exit_handlers, lambda: script_end.give_up_values(self.namespace, self.cells.loop)]
        if not done["interrupted"]:
            steps.insert(0, script_end.join_threads)
        self.interrupts.instead = interrupt.note
        for step in steps:
            failure = self.attempt(lambda: self.cells.context.run(interrupt.keep_quiet, step))
            # Anything else is a failure of what runs at the end: not the code's.
            if (interrupt.noted or isinstance(failure, KeyboardInterrupt)) and not done["interrupted"]:
                done = self.describe_end(failure if isinstance(failure, KeyboardInterrupt) else KeyboardInterrupt())
        self.interrupts.instead = None
        self.attempt(self.send_held)
        self.streams.flush()
        return done

    def execute(self, source, directory):
        if directory:
            os.chdir(directory)
            _environ["PWD"] = directory
        leave_what_is_gone()
        value = self.cells.run(source)
        if value is not None:
            builtins._ = value
            self.cells.context.run(self.show, value, is_main_result=True)

    def send_held(self):
        try:
            self.shown.make_widgets()
        finally:
            with self.interrupts.shield():  # all of them, or those after the interrupt were lost
                self.shown.end()

    def send_output(self, output, image=None):
        with self.interrupts.shield():
            self.streams.flush()  # so that text printed before it does not arrive after it
            self.channel.send_output(output, image)

    def display(self, *values, display_id=None, update=False, clear=False):
        """Shows values as results of this run: tables, figures, images, anything with a repr.

        With a display_id (True for a new one) they can be shown anew: by update of the handle that is returned."""
        if update and not display_id:
            raise TypeError("display_id required for update_display")
        if clear:
            self.shown.clear(wait=True)
        if display_id is True:
            display_id = os.urandom(16).hex()
        for value in values:
            self.show(value, False, display_id or None, update)
        if not display_id:
            return None
        if not values:  # a place for what comes
            self.emit_bundle({}, display_id)
        return shown.Handle(self.display, display_id)

    def show(self, value, is_main_result, display_id=None, update=False):
        if shown.is_widget(value) and not is_main_result and not library_charts.is_figure(value):
            self.shown.add_widget(value, lambda: display.output_of(value, self.figures, False, self.notebook.formatted))
        elif notebook.is_shown_by_itself(value) and not library_charts.is_figure(value):
            value._ipython_display_()
        else:
            output, picture = display.output_of(value, self.figures, is_main_result, self.notebook.formatted)
            is_figure = self.figures.is_figure(value) or library_charts.is_figure(value)
            self.shown.add(output, picture, display_id, update, value if is_figure else None)

    def emit_bundle(self, data, display_id=None, update=False):
        self.shown.add(*display.output_of_bundle(data), display_id, update)

    def describe_end(self, failure):
        done = endings.describe(failure, self.interrupts)
        if "error" in done:
            self.write_error(done["error"]["traceback"])
        return done

    def write_error(self, text):
        self.streams.renew()  # the failed code may have left sys.stderr closed or replaced
        try:
            sys.stderr.write(text)
        except OSError:
            pass  # nobody reads the pipe any more

    def leave_child(self, failure):
        """Ends a process that user code forked and that ran off the end of the cell."""
        code = 0
        if failure is not None:
            code = self.describe_end(failure)["exit_code"]
        self.streams.flush()
        _exit_process(code)


def make_main_module():
    """A fresh `__main__`, so that classes of the user can be pickled and found again."""
    module = type(sys)("__main__")
    module.__builtins__ = builtins
    make_main_module.runner = sys.modules["__main__"]  # its globals must outlive the swap
    sys.modules["__main__"] = module
    return module.__dict__


def leave_what_is_gone():
    """A working directory that was deleted is the end of every relative path, and of many imports."""
    try:
        os.getcwd()
    except FileNotFoundError:
        try:  # another of its name may be there by now
            return os.chdir(os.readlink("/proc/self/cwd").removesuffix(" (deleted)"))
        except OSError:
            pass
        if os.path.isdir("/workspace"):  # it is not, outside of a box
            os.chdir("/workspace")
            sys.stderr.write("(the working directory is gone: starting in /workspace)\n")


_REFUSAL = "() cannot ask anybody here: put the value into the code, or pass it in env and read os.environ"
_input, _fstat, _NULL_DEVICE = builtins.input, os.fstat, os.makedev(1, 3)


def ask(prompt="", /):
    if _is_empty(sys.stdin):
        raise EOFError("input" + _REFUSAL)
    return _input(prompt)


def watch_passwords(getpass):
    original = getpass.getpass

    def ask_password(prompt="Password: ", stream=None, **options):
        if _is_empty(sys.stdin):
            raise EOFError("getpass.getpass" + _REFUSAL)
        return original(prompt, stream, **options)

    getpass.getpass = ask_password


def _is_empty(stdin):
    """Whether it is what the session has, rather than what the code has put there to be read."""
    try:
        return _fstat(stdin.fileno()).st_rdev == _NULL_DEVICE
    except Exception:  # an object of the user's, which need not be a file
        return False


def enter_environment(changes):
    """Sets the run's variables; returns what they were before."""
    if not isinstance(changes, dict):
        return {}
    before = {name: _environ.get(name) for name in changes}
    for name, value in changes.items():
        _environ[name] = str(value)
    return before


def restore_environment(before):
    for name, value in before.items():
        if value is None:
            _environ.pop(name, None)
        else:
            _environ[name] = value
