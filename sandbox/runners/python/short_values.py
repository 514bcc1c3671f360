"""Long values in short: lists, dicts and what is made like them show their first and last items and say how many lie between.

What is left out is whole items, and is not asked for its words, so that no part of a number can be taken for one. What has
words of its own, which the type's author has written, is shown with these or only named.
"""

import sys
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque, namedtuple
from itertools import islice
from re import compile as pattern
from types import FunctionType, MappingProxyType, SimpleNamespace

from hutch_runner.channel import ShortText

WHOLE_CHARACTERS = 2_000  # a value that has no more is shown whole
SHORT_CHARACTERS = 1_000
ENDS = 10  # items at each end, of what is not shown whole
LIST_ALL, PAIRS_ALL = 10, 20  # so many items share what room there is, rather than that some are left out
SHARES = 6  # parts of that room, where there are more items
LEAST = 40  # characters for which something is shown of what is within
KEY_CHARACTERS = 200
DEPTH_MAX = 40
FILE_ITEMS = 20_000  # so much plain data is written whole into a file
FILE_CHARACTERS = 1_000_000
ARRAY_WHOLE = 1000  # items from which on numpy leaves some out, if nobody has said otherwise

_SCALARS = (int, float, bool, complex, type(None))
_NAMED = namedtuple("_named", "").__repr__.__code__
_VIEWS = [type(view) for empty in ({}, OrderedDict()) for view in (empty.keys(), empty.values(), empty.items())]
_PART_OF_WORD = pattern(r"[\w.,:+-]{1,24}\Z")
_REST_OF_WORD = pattern(r"[\w.,:+-]{1,24}(?![\w.,:+-])")


class _Shape:
    """How a container is written: what is before its items and behind them, and how to have them from both ends."""

    def __init__(self, before, after, items, count, from_end=None, pairs=None, again=None):
        self.before, self.after, self.count = before, after, count
        self.pairs = pairs  # stands between the halves of an item, which then is a pair
        self.again = again or before + "..." + after  # within itself
        self._items, self._from_end = items, from_end

    def items(self):
        return iter(self._items())

    def ends(self):
        """Two iterators, the second one from the end; None for what has none."""
        return self.items(), self._from_end and iter(self._from_end())


def text_of(value, is_last_value=False):
    """repr(value) where that is short; None for what is no container, nor an array."""
    writer = _Writer()
    if not writer.knows(value):
        return None
    text = writer.whole(value, WHOLE_CHARACTERS)
    if text is not None:
        return text
    text = writer.short(value, SHORT_CHARACTERS)
    whole = writer.numbers(value) or (_whole_for_file(value) if is_plain(value) else "")
    if 0 < len(whole) <= FILE_CHARACTERS:
        return ShortText(text, whole)
    what = f"{writer.named(value)}; to see more, print() a part of it"
    return f"{text}\n\n[{what}, which is _ in the next run]" if is_last_value else f"{text}\n\n[{what}]"


def _whole_for_file(value):
    try:
        return repr(value)
    except (ValueError, RecursionError):  # an integer of too many digits; too deep
        return ""


def is_plain(value):
    """Whether there are only values of Python's own in it, and not very many."""
    items, characters, waiting = FILE_ITEMS, FILE_CHARACTERS, [value]
    while waiting:
        item = waiting.pop()
        kind = type(item)
        if kind in _SCALARS:
            continue
        if kind in (str, bytes):
            characters -= len(item)
        elif kind in (list, tuple, set, frozenset, deque, dict, OrderedDict, defaultdict, Counter):
            items -= len(item)
            if items < 0:  # so it is of what has itself within it, too
                return False
            waiting.extend(item)
            if issubclass(kind, dict):
                waiting.extend(item.values())
        elif kind.__module__ not in ("datetime", "decimal"):
            return False
        if characters < 0:
            return False
    return True


class _Writer:
    def __init__(self):
        self._within = []  # containers that are being written, each in the one before
        self._words = {}  # by id() of what has its own, with the object, so that the number stays its own
        self._has_asked_users = False  # classes whose words are code of Python's
        self._numpy = sys.modules.get("numpy")

    def knows(self, value):
        return self._is_array(value) or self._shape(value) is not None

    def named(self, value):
        if self._is_array(value):
            return f"array of shape {value.shape}"
        shape = self._shape(value)
        return f"{type(value).__name__} of {shape.count:,} {'field' if shape.pairs == '=' else 'item'}{'s' if shape.count > 1 else ''}"

    # --- whole -------------------------------------------------------------------------------------

    def whole(self, value, room):
        """repr(value); None where that has more than `room` characters, soon."""
        kind = type(value)
        if kind in _SCALARS:
            text = _said(value)
            return text if len(text) <= room else None
        if isinstance(value, (str, bytes, bytearray)) and kind.__repr__ in _OF_TEXT:
            text = repr(value) if len(value) <= room else ""
            return text if 0 < len(text) <= room else None
        if self._is_array(value):
            return self._whole_array(value, room)
        shape = self._shape(value)
        if shape is None:
            return self._own_words(value, room)
        if any(one is value for one in self._within):
            return shape.again
        least = 3 * shape.count + len(shape.before) + len(shape.after) - 2
        if least > room or len(self._within) >= DEPTH_MAX:
            return None
        self._within.append(value)
        try:
            return self._whole_items(shape, room - len(shape.before) - len(shape.after) + 2)
        finally:
            self._within.pop()

    def _whole_items(self, shape, room):
        texts, used = [], 0
        if shape.count > 2 * ENDS and shape.ends()[1] and not self._may_fit(shape, room):
            return None
        for item in shape.items():
            text = self._whole_item(item, shape, room - used - 2)
            if text is None:
                return None
            texts.append(text)
            used += len(text) + 2
            if self._has_asked_users and used * shape.count > room * len(texts):
                return None
        return shape.before + ", ".join(texts) + shape.after

    def _may_fit(self, shape, room):
        """As the items at both ends say it, which are shown in any case: the others are not to be asked in vain."""
        used = 0
        first, last = shape.ends()
        for asked, item in enumerate((*islice(first, ENDS), *islice(last, ENDS)), 1):
            text = self._whole_item(item, shape, room - used - 2)
            if text is None:
                return False
            used += len(text) + 2
            if self._has_asked_users and used * shape.count > room * asked:
                return False
        return used * shape.count <= room * 2 * ENDS

    def _whole_item(self, item, shape, room):
        if not shape.pairs:
            return self.whole(item, room)
        key = self._key(item[0], shape)
        value = self.whole(item[1], room - len(key) - len(shape.pairs))
        return None if value is None else key + shape.pairs + value

    def _own_words(self, value, room):
        words = self._words_of(value)
        return words if len(words) <= room else None

    def _words_of(self, value):
        if id(value) not in self._words:
            self._has_asked_users |= isinstance(type(value).__repr__, FunctionType)
            self._words[id(value)] = value, _said(value)
        return self._words[id(value)][1]

    # --- short -------------------------------------------------------------------------------------

    def short(self, value, room, shown=0):
        kind = type(value)
        if isinstance(value, (str, bytes, bytearray)) and kind.__repr__ in _OF_TEXT:
            return _short_text(value, room)
        if self._is_array(value):
            return self._short_array(value, room)
        shape = None if kind in _SCALARS else self._shape(value)
        if shape is None:
            words = self._words_of(value)
            return words if len(words) <= max(room, shown) else _name(value, words)
        room -= len(shape.before) + len(shape.after)
        if room < LEAST or len(self._within) >= DEPTH_MAX:
            return f"{shape.before}<{shape.count:,} item{'s' if shape.count > 1 else ''}>{shape.after}"
        self._within.append(value)
        try:
            is_few = shape.count <= (PAIRS_ALL if shape.pairs else LIST_ALL)
            texts = self._shared(list(shape.items()), shape, room) if is_few else self._at_ends(shape, room)
        finally:
            self._within.pop()
        return shape.before + ", ".join(texts) + shape.after

    def _shared(self, items, shape, room):
        """All of them: what one does not need of its share is the others'."""
        texts, waiting = {}, list(range(len(items)))
        room -= 2 * (len(items) - 1)
        for _ in range(3):
            share = room // max(len(waiting), 1)
            for place in list(waiting):
                text = self._whole_item(items[place], shape, share)
                if text is not None:
                    texts[place] = text
                    waiting.remove(place)
                    room -= len(text)
        for place in waiting:
            texts[place] = self._short_item(items[place], shape, room // len(waiting))
        return [texts[place] for place in range(len(items))]

    def _at_ends(self, shape, room):
        share = room // SHARES
        room -= 2 * LEAST  # for what is said of the others
        first, last = shape.ends()
        head, tail, used = [], [], 0
        while (count := len(head) + len(tail)) < min(shape.count, 2 * ENDS) and used + used // max(count, 1) <= room:
            is_tail = last is not None and len(tail) < len(head)
            item = next(last if is_tail else first)
            text = self._whole_item(item, shape, share)
            if text is None:
                text = self._short_item(item, shape, share, room // 2 if count else room)
            used += len(text) + 2
            if used > room and count:
                break
            (tail if is_tail else head).append(text)
        left_out = shape.count - len(head) - len(tail)
        return [*head, *([f"<{left_out:,} left out>"] if left_out else ()), *reversed(tail)]

    def _short_item(self, item, shape, room, shown=0):
        """`shown`: what may be used for the words of an object, where it has its own."""
        if not shape.pairs:
            return self.short(item, room, shown)
        key = self._key(item[0], shape) + shape.pairs
        return key + self.short(item[1], max(room - len(key), LEAST), shown)

    def _key(self, key, shape):
        if shape.pairs == "=":
            return key
        text = self.whole(key, KEY_CHARACTERS)
        return self.short(key, KEY_CHARACTERS) if text is None else text

    # --- numpy -------------------------------------------------------------------------------------

    def _is_array(self, value):
        kind = getattr(self._numpy, "ndarray", None)
        return kind is not None and isinstance(value, kind) and type(value).__repr__ is kind.__repr__ and value.ndim > 0

    def numbers(self, value):
        """All of them, where numpy has left none out."""
        has_all = self._is_array(value) and not value.dtype.hasobject and value.size <= ARRAY_WHOLE
        return self._words_of(value) if has_all else ""

    def _whole_array(self, value, room):
        """As numpy says it, with dots of its own where there are very many, or as the code has told it to."""
        is_asked_for = self._numpy.get_printoptions()["threshold"] != ARRAY_WHOLE and not self._within
        if not is_asked_for and value.dtype.hasobject and value.size > 2 * ENDS:
            count = value.size
            shape = _Shape("", "", lambda: value.flat, count, lambda: (value.flat[at] for at in range(count - 1, -1, -1)))
            if not self._may_fit(shape, room):
                return None
        text = self._words_of(value)
        return text if len(text) <= room or is_asked_for else None

    def _short_array(self, value, room):
        each = {"object": self._short_of_array, "str_kind": self._short_of_array}
        for ends in (ENDS, 5, 3, 2, 1):
            with self._numpy.printoptions(threshold=0, edgeitems=ends, formatter=each):
                text = _said(value)
            if len(text) <= room:
                return text
        return f"<array of shape {value.shape}, {value.dtype}>"

    def _short_of_array(self, item):
        if isinstance(item, self._numpy.character):
            item = item.item()
        text = self.whole(item, LEAST)
        return self.short(item, LEAST) if text is None else text

    # --- how things are written -----------------------------------------------------------------------

    def _shape(self, value):
        kind = type(value)
        write = _SHAPES.get(kind.__repr__)
        if write is None and kind.__module__ == "array":
            write = _of_array
        elif write is None and isinstance(kind.__repr__, FunctionType):
            write = _of_tuple if kind.__repr__.__code__ is _NAMED else _of_dataclass
        shape = write and write(value)
        return shape if shape and shape.count else None


def _said(value):
    try:
        return repr(value)
    except Exception as failure:
        return f"<{type(value).__name__} object; its __repr__ raised {type(failure).__name__}: {failure}>"


def _name(value, words):
    """Names a value that has too many words: half of them could say something else."""
    kind = type(value)
    if isinstance(value, int):
        return f"<{kind.__name__} of some {value.bit_length() * 0.30103:,.0f} digits>"
    shape = getattr(value, "shape", None) if kind.__module__.partition(".")[0] in ("pandas", "polars", "numpy", "torch") else None
    return f"<{kind.__name__} of shape {tuple(shape)}>" if shape is not None and tuple(shape) else f"<{kind.__name__}: {len(words):,} characters>"


def _short_text(value, room):
    """Its two ends, which end where a word does."""
    room = max(room - 30, 12)
    part = value[:room]
    room = max(room * len(part) // len(repr(part)), 12)  # as many as have room when they are escaped
    if len(value) <= room:
        return repr(value)
    head = value[:room * 3 // 4]
    tail = value[max(len(head), len(value) - room // 4):]
    if isinstance(value, str):
        trimmed = _PART_OF_WORD.search(head)
        if trimmed and trimmed.start() and value[len(head)].isalnum():
            head = head[:trimmed.start()]
        trimmed = _REST_OF_WORD.match(tail)
        if trimmed and trimmed.end() < len(tail) and value[-len(tail) - 1].isalnum():
            tail = tail[trimmed.end():]
    what = "characters" if isinstance(value, str) else "bytes"
    return f"{head!r}<{len(value) - len(head) - len(tail):,} {what} left out>{tail!r}"


def _of_list(value):
    kind = list if isinstance(value, list) else tuple
    count = kind.__len__(value)
    before, after = ("[", "]") if kind is list else ("(", ",)" if count == 1 else ")")
    return _Shape(before, after, lambda: kind.__iter__(value), count, lambda: (kind.__getitem__(value, at) for at in range(count - 1, -1, -1)),
                  again="[...]" if kind is list else "(...)")


def _of_set(value):
    kind = type(value)
    before, after = ("{", "}") if kind is set else (kind.__name__ + "({", "})")
    base = set if isinstance(value, set) else frozenset
    return _Shape(before, after, lambda: base.__iter__(value), base.__len__(value))


def _of_dict(value, before="{", after="}"):
    return _Shape(before, after, lambda: dict.items(value), dict.__len__(value), lambda: reversed(dict.items(value)), ": ")


def _of_ordered(value):
    name = type(value).__name__
    if sys.version_info >= (3, 12):
        return _of_dict(value, name + "({", "})")
    return _Shape(name + "([", "])", value.items, len(value), lambda: reversed(value.items()), again="...")


def _of_default(value):
    return _of_dict(value, f"{type(value).__name__}({value.default_factory!r}, {{", "})")


def _of_counter(value):
    """The most common first, as it says them; the least common of very many are not looked for."""
    try:
        most = value.most_common(None if len(value) <= ARRAY_WHOLE else 2 * ENDS)
    except TypeError:  # counts that cannot be compared
        return _of_dict(value, type(value).__name__ + "({", "})")
    return _Shape(type(value).__name__ + "({", "})", lambda: most, len(value), None, ": ")


def _of_deque(value):
    after = "])" if value.maxlen is None else f"], maxlen={value.maxlen})"
    return _Shape(type(value).__name__ + "([", after, lambda: deque.__iter__(value), deque.__len__(value), lambda: deque.__reversed__(value), again="[...]")


def _of_view(value):
    return _Shape(type(value).__name__ + "([", "])", lambda: value, len(value), lambda: reversed(value))


def _of_proxy(value):
    return _Shape("mappingproxy({", "})", value.items, len(value), lambda: reversed(value.items()), ": ")


def _of_array(value):
    if value.typecode in "uw":  # it is text
        return None
    return _Shape(f"array({value.typecode!r}, [", "])", lambda: value, len(value), lambda: (value[at] for at in range(len(value) - 1, -1, -1)))


def _of_maps(value):
    return _Shape(type(value).__name__ + "(", ")", lambda: value.maps, len(value.maps), lambda: reversed(value.maps), again="...")


def _of_data(value):
    return _SHAPES[type(value.data).__repr__](value.data) if type(value.data) in (list, dict) else None


def _of_namespace(value):
    return _of_fields("namespace" if type(value) is SimpleNamespace else type(value).__name__, value, value.__dict__)


def _of_tuple(value):
    return _of_fields(type(value).__name__, value, value._fields)


def _of_dataclass(value):
    """Whose words are not the user's; None for any other."""
    kind = type(value)
    owner = next(base for base in kind.__mro__ if "__repr__" in base.__dict__)
    fields = owner.__dict__.get("__dataclass_fields__")
    made = getattr(kind.__repr__, "__wrapped__", None)
    if fields is None or made is None or "__create_fn__" not in made.__qualname__:
        return None
    return _of_fields(kind.__qualname__, value, [one.name for one in fields.values() if one.repr and one._field_type.name == "_FIELD"], "...")


def _of_fields(name, value, fields, again=None):
    pairs = [(field, getattr(value, field)) for field in fields]
    return _Shape(name + "(", ")", lambda: pairs, len(pairs), lambda: reversed(pairs), "=", again)


_OF_TEXT = {kind.__repr__ for kind in (str, bytes, bytearray)}
_SHAPES = {
    list.__repr__: _of_list, tuple.__repr__: _of_list, set.__repr__: _of_set, frozenset.__repr__: _of_set, dict.__repr__: _of_dict,
    OrderedDict.__repr__: _of_ordered, defaultdict.__repr__: _of_default, Counter.__repr__: _of_counter, deque.__repr__: _of_deque,
    MappingProxyType.__repr__: _of_proxy, SimpleNamespace.__repr__: _of_namespace, ChainMap.__repr__: _of_maps,
    UserList.__repr__: _of_data, UserDict.__repr__: _of_data, **{kind.__repr__: _of_view for kind in _VIEWS},
}
