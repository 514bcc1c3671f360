"""Guesses what bytes that did not decode may be: encodings for open(), pandas and SQL. The host's charset.cc tells the same of whole files."""

import codecs
import re

_SEEN = 1 << 16  # bytes around the one that failed
_RIGHT_FOR_ONE_WRONG = 2
_WIDE_LEAST = 8  # bytes, to tell UTF-16 without its mark
_OTHERS_ONE_IN = 3  # bytes of text in Latin letters: where more are beyond ASCII, it is another alphabet
_NAMED = 3  # candidates
_READ_AT_ONCE = 1 << 20
_READ_MAX = 256 << 20
_PAIRS_LEAST, _RARE_ONE_IN = 2, 4
_KANA_LEAST = 2
# Letters of Cyrillic and Greek stand in words of their own.
_WORD = re.compile(rb"[\xc0-\xff]{3,}")
_WORDS_LEAST, _LETTERS_LEAST = 2, 8
# Pairs of bytes as Shift-JIS has them, and those of them that are syllables.
_SHIFT_JIS = re.compile(rb"[\x81-\x9f\xe0-\xfc].", re.DOTALL)
_KANA = re.compile(rb"\x82[\x9f-\xf1]|\x83[\x40-\x96]")
_PAIR = re.compile(rb"([\x81-\xfe])([\x40-\xfe])")
_BEHIND_RARE_KOREAN = frozenset([*range(0x41, 0x5b), *range(0x61, 0x7b), *range(0x81, 0xa1)])  # as UHC has more than EUC-KR
_KOREAN_LEAST, _BIG5_LEAST = 8, 4
_WESTERN = "cp1252"
_CAVEAT = f"{_WESTERN!r}, or cp1250 (Central Europe) or cp1254 (Turkish) where letters look wrong"


def encodings_of(whole, at):
    """Names what `whole`, which did not decode at that place, may be, as Python has it, the likeliest first; none where nothing can be told."""
    if whole[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return ["utf-16"]
    begin = max(0, at - _SEEN // 2) & ~1
    data = bytes(whole[begin:begin + _SEEN])
    if b"\0" in data:
        return _of_wide(data)
    if any(byte < 32 and byte not in b"\t\n\r\f" for byte in data):
        return []  # it is no text
    text = _characters_of(data)
    wrong = text.count("\ufffd")
    right = sum(character >= "\x80" for character in text) - wrong
    if not wrong and right:
        return ["utf-8"]
    if right >= _RIGHT_FOR_ONE_WRONG * wrong:
        return []  # damaged UTF-8
    return [name for name in _candidates_for(data) if _decodes(data, name)][:_NAMED]


def in_words(encodings):
    """Words for a person, without any around."""
    first, *others = encodings
    if first == _WESTERN:
        return f"encoding={_CAVEAT}"
    return f"encoding={first!r}" + (f", or {' or '.join(others)}" if others else "")


def of_failure(failure):
    return encodings_of(failure.object, failure.start)


def of_file(path):
    """Names it of a file that is no UTF-8, which it reads to where that shows."""
    decoder, before = codecs.getincrementaldecoder("utf-8")(), b""
    try:
        with _opened(path) as file:
            for _ in range(_READ_MAX // _READ_AT_ONCE):
                part = file.read(_READ_AT_ONCE)
                try:
                    decoder.decode(part, final=not part)
                except UnicodeDecodeError as failure:
                    pending = len(failure.object) - len(part)  # the beginning of a character, from the part before
                    return encodings_of(before + part, max(0, failure.start - pending + len(before)))
                if not part:
                    break
                before = part[-_SEEN & ~1:]
    except (OSError, EOFError):
        pass
    return []


def is_latin(path, encodings):
    """Whether latin-1 is the same as the Western one, for all that it looks at: DuckDB has no other."""
    if encodings[:1] != [_WESTERN]:
        return False
    try:
        with _opened(path) as file:
            return not re.search(rb"[\x80-\x9f]", file.read(_READ_AT_ONCE))
    except (OSError, EOFError):
        return False


def _opened(path):
    if path.endswith(".gz"):
        import gzip
        return gzip.open(path)
    return open(path, "rb")


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


def _candidates_for(data):
    """As candidates_for() of charset.cc: almost any text makes some sense in several of them."""
    is_paired, has_kana = _is_in_pairs(data), sum(_KANA.match(pair) is not None for pair in _SHIFT_JIS.findall(data)) >= _KANA_LEAST
    others = sum(byte >= 128 for byte in data)
    if not is_paired and not has_kana:
        if words := _letters_of_words(data):
            return words
        if others * _OTHERS_ONE_IN <= len(data):
            return [_WESTERN]
    eastern = ["gb18030", "cp949", "big5", "euc_jp", "shift_jis"] if is_paired and not has_kana else ["shift_jis", "gb18030", "big5", "euc_jp", "cp949"]
    likely = "" if has_kana else _likely_of_pairs(data)
    return sorted(eastern, key=lambda name: name != likely)


def _likely_of_pairs(data):
    """Names the encoding whose commonest characters nearly all of them are; empty where that is none of these, or there are few."""
    letters = korean = rare_korean = big5 = low = kana = 0
    for first, second in _PAIR.findall(data):
        first, second = first[0], second[0]
        if 0xa1 <= first <= 0xa3 and second >= 0xa1:
            continue  # signs, in all of them
        letters += 1
        korean += 0xb0 <= first <= 0xc8 and second >= 0xa1
        rare_korean += first <= 0xc6 and second <= 0xa0 and second in _BEHIND_RARE_KOREAN or first <= 0xa0 < second
        big5 += 0xa4 <= first <= 0xc6 and (second >= 0xa1 or 0x40 <= second <= 0x7e)
        low += 0x40 <= second <= 0x7e
        kana += 0xa4 <= first <= 0xa5 and second >= 0xa1
    if letters >= _KOREAN_LEAST and (korean + rare_korean) * 20 >= letters * 19 and rare_korean * 5 <= letters:
        return "cp949"
    if letters >= _BIG5_LEAST and big5 * 20 >= letters * 19 and low * 10 >= letters:
        return "big5"
    return "euc_jp" if kana >= _KANA_LEAST and kana * 5 >= letters and not low else ""


def _is_in_pairs(data):
    """Whether all bytes beyond ASCII stand in pairs, as GB18030 and the EUCs have them, and most are common characters."""
    pairs = rare = 0
    for run in re.findall(rb"[\x80-\xff]+", data):
        for first, second in zip(run[::2], run[1::2]):
            if not 0xa1 <= first <= 0xf7 or second < 0xa1:
                return False
            pairs, rare = pairs + 1, rare + (first > 0xd7)
        if len(run) % 2 and not data.endswith(run) and not data.startswith(run):
            return False
    return pairs >= _PAIRS_LEAST and rare * _RARE_ONE_IN <= pairs


def _letters_of_words(data):
    """Encodings of Cyrillic and Greek, where it has such words; else none."""
    words = _WORD.findall(data)
    letters = b"".join(words)
    alone = sum(byte >= 0xc0 for byte in data) - len(letters)
    if len(words) < _WORDS_LEAST or len(letters) < _LETTERS_LEAST or len(letters) <= alone:
        return []
    first_half = sum(byte < 0xe0 for byte in letters)
    if first_half * 2 > len(letters):  # small letters of KOI8
        return ["koi8_r", "cp1251", "cp1253"]
    if re.search(rb"[\xe0-\xff][\xdc-\xdf]", letters):  # accents of Greek, in the middle of words
        return ["cp1253", "cp1251", "koi8_r"]
    return ["cp1251", "koi8_r", "cp1253"]


def _decodes(data, encoding):
    try:
        codecs.getincrementaldecoder(encoding)().decode(data)  # its end may be half a character
    except UnicodeDecodeError:
        return False
    return True


def _of_wide(data):
    even, odd = data[0::2].count(0), data[1::2].count(0)
    if len(data) < _WIDE_LEAST or max(even, odd) * 4 < len(data) // 2 or min(even, odd) * 8 > max(even, odd):
        return []
    return ["utf-16-le" if odd > even else "utf-16-be"]
