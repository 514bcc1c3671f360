"""Outputs of a run on their way: sent at once, or held to its end where the code changes them meanwhile.

What has been sent cannot be taken back. So a run that clears its outputs, or updates one by its
display_id, as notebooks do, gives their last state; what it prints stays. A figure comes once, where it
is shown and is the value of the last line, too, unless it looks different then. A widget, such as the bar of
tqdm.notebook, comes as it is when the run ends.
"""

import sys

from hutch_runner.digests import digest_of

HELD_MAX = 100  # more the host does not take
# These change outputs; a function of an earlier run may do it too, hence _has_changed_some.
_CHANGES = ("clear_output", "display_id", "update_display", "DisplayHandle")


class Shown:
    def __init__(self, send, cleared):
        self._send = send
        self._cleared = cleared  # called with the output that stays, or None
        self._held = None  # [display_id, output, picture] of each; None: they are sent at once
        self._figures = []  # that this run has shown: with digests of how they looked
        self._widgets = []  # that this run has shown, each with what makes its output
        self._is_cleared_by_next = False
        self._has_changed_some = False

    def begin(self, source):
        self._figures.clear()
        self._widgets.clear()
        self._held = [] if self._has_changed_some or any(change in source for change in _CHANGES) else None
        self._is_cleared_by_next = False

    def end(self):
        try:
            self.make_widgets()
        finally:
            held, self._held = self._held or (), None
            self._figures.clear()
            for _, output, picture in held:
                self._send(output, picture)

    def add(self, output, picture=None, display_id=None, update=False, figure=None):
        """`figure`: the object that the picture is of, where that may be shown more than once."""
        if display_id is not None:
            self._hold()
        if self._is_cleared_by_next:
            self._clear(output)
        try:
            if output["is_main_result"]:
                self.make_widgets()
        finally:
            self._add(output, picture, display_id, update, figure)

    def _add(self, output, picture, display_id, update, figure):
        if figure is not None and picture and not update and self._has_shown(figure, picture):
            if not output["is_main_result"]:
                return
            output, picture = {"is_main_result": True, "formats": ["text"], "text": output["text"]}, None
        if self._held is None:
            self._send(output, picture)
            return
        # Outputs of an earlier run cannot be replaced: the new state is an output of this one.
        same = [one for one in self._held if update and one[0] == display_id]
        for one in same:
            one[1:] = [output, picture]
        if not same:
            self._held.append([display_id, output, picture])
        if len(self._held) > HELD_MAX:
            self.end()

    def add_widget(self, widget, make_output):
        """`make_output` gives the output and the picture of its state."""
        if self._is_cleared_by_next:
            self._clear(None)
        # Loops close the bars of inner loops: they would be kept for nothing.
        self._widgets = [one for one in self._widgets if one[0] is not widget and not _is_closed(one[0])]
        self._widgets.append((widget, make_output))
        if len(self._widgets) > HELD_MAX:
            self.make_widgets()

    def make_widgets(self):
        """Makes the outputs of the widgets, each of which runs code of the user's. An interrupt ends one, and is raised when all are made.

        So it is to be called where an interrupt may come; end() makes those that are left."""
        (widgets, self._widgets), interrupt = (self._widgets, []), None
        try:
            while widgets:
                widget, make_output = widgets.pop(0)
                try:
                    made = None if _is_closed(widget) else make_output()
                except KeyboardInterrupt as failure:
                    made, interrupt = _not_made(widget, "interrupted"), failure
                except BaseException as failure:  # also what would end the program
                    made = _not_made(widget, type(failure).__name__)
                if made is not None:
                    self.add(*made)
            if interrupt is not None:
                raise interrupt
        finally:
            self._widgets[:0] = widgets  # some are left where an interrupt comes between two
            interrupt = None  # no circle with its own traceback

    def _has_shown(self, figure, picture):
        digest = digest_of(picture)
        if any(one is figure and digest == earlier for one, earlier in self._figures):
            return True
        self._figures.append((figure, digest))
        return False

    def clear(self, wait=False):
        """With `wait`, once there is another output."""
        self._hold()
        if wait:
            self._is_cleared_by_next = True
        else:
            self._clear(None)

    def _hold(self):
        self._has_changed_some = True
        if self._held is None:
            self._held = []

    def _clear(self, next_output):
        self._is_cleared_by_next = False
        self._held.clear()
        self._figures.clear()
        self._widgets.clear()
        self._cleared(next_output)


def is_widget(value):
    """Whether it is one of ipywidgets, whose state code changes after it is shown."""
    widgets = getattr(sys.modules.get("ipywidgets"), "Widget", None)
    return isinstance(widgets, type) and issubclass(type(value), widgets)  # its own `__class__` would be code of the user's


def _is_closed(widget):
    return getattr(widget, "comm", widget) is None


def _not_made(widget, reason):
    """The output, without a picture, for a widget that could not be made one of."""
    return {"is_main_result": False, "formats": ["text"], "text": f"<{type(widget).__name__} object; not shown: {reason}>"}, None


class Handle:
    """The handle that display() gives for a display_id."""

    def __init__(self, display, display_id):
        self._display = display
        self.display_id = display_id

    def __repr__(self):
        return f"<DisplayHandle display_id={self.display_id}>"

    def display(self, value, **options):
        self._display(value, display_id=self.display_id, **options)

    def update(self, value, **options):
        self._display(value, display_id=self.display_id, update=True, **options)
