"""What bytes that did not decode may be: an encoding for open() and pandas. The host's charset.cc tells more, of whole files."""

_SEEN = 1 << 16  # bytes around the one that failed
_RIGHT_FOR_ONE_WRONG = 2
_WIDE_LEAST = 8  # bytes, to tell UTF-16 without its mark
_OTHERS_ONE_IN = 3  # letters of text in Latin ones: where more are beyond ASCII, it is another alphabet


def encoding_of(failure):
    """Its name as Python has it; empty where nothing can be told."""
    whole = failure.object
    if whole[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    begin = max(0, failure.start - _SEEN // 2) & ~1
    data = bytes(whole[begin:begin + _SEEN])
    if b"\0" in data:
        return _of_wide(data)
    if any(byte < 32 and byte not in b"\t\n\r\f" for byte in data):
        return ""  # it is no text
    others = sum(byte >= 128 for byte in data)
    letters = len(data) - others - sum(not chr(byte).isalpha() for byte in data if byte < 128)
    text = _characters_of(data)
    wrong = text.count("\ufffd")
    right = sum(character >= "\x80" for character in text) - wrong
    if not wrong and right:
        return "utf-8"
    if right >= _RIGHT_FOR_ONE_WRONG * wrong or others * _OTHERS_ONE_IN > others + letters:
        return ""  # damaged UTF-8, or a language that is not written in Latin letters
    try:
        data.decode("cp1252")
    except UnicodeDecodeError:
        return ""
    return "cp1252"


def is_of_file(failure):
    """Whether the bytes came from a file, not from somebody's own b"...".decode()."""
    step = failure.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    code = step.tb_frame.f_code if step is not None else None
    file = code.co_filename if code is not None else ""
    if "/encodings/" in file:
        return code.co_qualname.startswith("Incremental")
    return file.endswith((".pyx", "codecs.py", "<frozen codecs>")) or "/pandas/" in file


def _characters_of(data):
    """Without what the first and the last character have lost where a part of the whole begins and ends."""
    begin = next((at for at in range(min(3, len(data))) if data[at] & 0xc0 != 0x80), 0)
    end = next((len(data) - at for at in range(1, min(4, len(data) + 1)) if data[-at] >= 0xc0), len(data))
    return data[begin:end if len(data) == _SEEN else len(data)].decode("utf-8", "replace")


def _of_wide(data):
    even, odd = data[0::2].count(0), data[1::2].count(0)
    if len(data) < _WIDE_LEAST or max(even, odd) * 4 < len(data) // 2 or min(even, odd) * 8 > max(even, odd):
        return ""
    return "utf-16-le" if odd > even else "utf-16-be"
