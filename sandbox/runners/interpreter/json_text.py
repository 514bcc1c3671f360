"""JSON as `json` reads and writes it, by the same C functions: the rest of `json` needs `re`, which takes a start five milliseconds.

They are bound now: user code may put something else in the place of what it can import.
"""

try:
    from _json import encode_basestring, encode_basestring_ascii, make_encoder, make_scanner
except ImportError:  # an interpreter that has no such half
    make_scanner = None

_SPACE = " \t\n\r"


class _Options:
    """These are the options that the scanner asks for."""

    strict = True
    object_hook = object_pairs_hook = array_hook = None
    parse_float, parse_int = float, int
    parse_constant = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": -float("inf")}.__getitem__
    memo = {}


def _decode(text):
    """The value; raises ValueError, or RecursionError."""
    text = text.strip(_SPACE)
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        raise ValueError("it is no JSON") from None
    if end != len(text):
        raise ValueError("more follows behind the JSON")
    return value


def _refuse(value):
    raise TypeError(f"no JSON for a {type(value).__name__}")


def _encoder(is_ascii, allow_nan, item_separator, key_separator):
    write_text = encode_basestring_ascii if is_ascii else encode_basestring

    def encode(value):
        """The text; raises TypeError, ValueError or RecursionError."""
        seen = {}  # where the encoder notes what it is in: a circle is refused
        return "".join(make_encoder(seen, _refuse, write_text, None, key_separator, item_separator, False, False, allow_nan)(value, 0))

    return encode


if make_scanner is None:
    from json import JSONDecoder, JSONEncoder

    decode = JSONDecoder().decode
    encode = JSONEncoder().encode
    encode_for_host = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
else:
    _scan = make_scanner(_Options)
    decode = _decode
    encode = _encoder(True, True, ", ", ": ")
    encode_for_host = _encoder(False, False, ",", ":")
