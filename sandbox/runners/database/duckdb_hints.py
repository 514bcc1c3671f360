"""Helps those who took DuckDB for another database: a line behind its error."""

import re

from hutch_runner import delimited, foreign_paths
from hutch_runner.unread_files import DOCUMENTS, IS_DOCUMENT

CANDIDATES_MAX = 3  # functions that an error lists, and one more where that is all

# Compiled when there is an error: no session needs them at its start.
_FUNCTION = r"Function with name (\w+) does not exist"
_TYPE = r"Type with name (\w+) does not exist"
_NEAR = r'syntax error at or near "(.+?)"'
_COLUMN = r'Referenced column "(.+?)" not found'
_READ_ONLY = r"Can only (?:update|delete from) base table|\w+ is not an table|Can only modify view with ALTER VIEW"
_CHANGED = r'(?i)\b(?:UPDATE|INTO|FROM|TABLE)\s+"?([^\s"(;]+)'
_TOP = r"(?i)\bTOP\s*\(?\s*\d"
_LIMIT = r"(?i)\bLIMIT\s+\d+\s*,"
_CANDIDATES = r"(?m)^\tCandidate \w+:\n((?:^\t.*\n)+)\n*"
_CALL = r"""argument types '.+?\((.*)\)'|function call ".+?\((.*)\)\""""
_NOT_ENCODED = r"not ([\w-]+) encoded|invalid UTF-8|as valid UTF-8"
_FILE = r"""(?m)^  file = (.+)$|file ["'](.+?)["']"""
_PATH = r"""["']([^"'\n]+\.\w+)["']"""
_FILE_LIST = r"\n+((?:Possible Solution: .*\n)*)\n*((?:  \w+ = ?.*\n)+)\n*"
_SEARCHED = r"(?m)^(?:The search space used was:|(?:Delimiter|Quote/Escape|Comment) Candidates: .*|Encoding: .*)\n"
_NO_FILE = r'No files found that match the pattern "|Cannot open file "|Table with name \S*[/.].* does not exist|Failed to create directory "'
_UNKNOWN_FILE = r'(No extension found that is capable of reading the file "([^"\n]+)")\n\* If this file is [^\n]*'
_OF_ITS_OWN = r'(?m)^Did you mean "(?:\w+\.)*(?:pg|sqlite|duckdb)_\w+"[^\n]*\n\n?'  # tables of DuckDB, which nobody has meant
_COPY_TO = r"(?is)\bTO\s+'([^']+)'"
_TO_WORKBOOK = r"""(?is)\bTO\s+'[^']+\.(?:xlsx?|ods)'|\bFORMAT\s+["']?(?:xlsx?|excel)\b"""

_DATE_AS_TEXT, _TEXT_AS_DATE = "strftime(date, '%Y-%m-%d')", "strptime(text, '%d.%m.%Y')"
_FUNCTIONS = {
    "date_format": _DATE_AS_TEXT, "to_char": _DATE_AS_TEXT, "format_date": _DATE_AS_TEXT,
    "str_to_date": _TEXT_AS_DATE, "to_date": _TEXT_AS_DATE, "parse_date": _TEXT_AS_DATE, "date_parse": _TEXT_AS_DATE,
    "getdate": "now()", "sysdate": "now()", "curdate": "current_date", "datetime": "now(), or CAST(text AS TIMESTAMP)",
    "dateadd": "date + INTERVAL 1 DAY", "timestampdiff": "date_diff('day', first, last)", "julianday": "date_diff('day', first, last)",
    "unix_timestamp": "epoch(timestamp)", "from_unixtime": "to_timestamp(seconds)",
    "isnull": "coalesce(a, b)", "nvl": "coalesce(a, b)", "iif": "if(condition, a, b)", "charindex": "strpos(text, part)", "locate": "strpos(text, part)",
    "substring_index": "split_part(text, ',', 1)", "regexp_substr": "regexp_extract(text, pattern)", "convert": "CAST(a AS VARCHAR)",
    "to_number": "CAST(text AS DOUBLE)", "rand": "random()", "newid": "uuid()", "truncate": "trunc(number, 1)", "total": "sum(a)",
    "percentile_cont": "quantile_cont(a, 0.5)", "last_insert_rowid": "INSERT INTO ... RETURNING id", "top": "SELECT ... LIMIT 5",
}
_COUNTS_UP = "CREATE SEQUENCE ids; CREATE TABLE t (id INTEGER DEFAULT nextval('ids'), ...)"
_WORDS = {
    "auto_increment": _COUNTS_UP, "autoincrement": _COUNTS_UP, "identity": _COUNTS_UP, "serial": _COUNTS_UP, "bigserial": _COUNTS_UP,
    "ignore": "INSERT OR IGNORE INTO ...", "replace": "INSERT OR REPLACE INTO ...", "number": "DECIMAL(18, 3)", "varchar2": "VARCHAR",
}


def of_view(message, sql, data_frames):
    """Says how to change a DataFrame, which is a view."""
    changed = re.search(_CHANGED, sql) if re.search(_READ_ONLY, message) else None
    name = next((name for name in data_frames if changed and name.lower() == changed[1].lower()), "")
    return f"; it is Python's DataFrame, which SQL can only read: CREATE TABLE t AS SELECT * FROM {name} makes a table to change" if name else ""


def shortened(message):
    """With few of the functions that were not meant: those whose types are most like the ones that were given; and of the form of a
    file what may be wrong."""
    message = re.sub(_OF_ITS_OWN, "\n", message)
    if (unread := re.search(_UNKNOWN_FILE, message)) and unread[2].lower().endswith(DOCUMENTS):
        return f"{message[:unread.start()]}{unread[1]}: {IS_DOCUMENT}{message[unread.end():]}"
    if "  sample_size = " in message:
        return re.sub(_FILE_LIST, _of_file_list, message, count=1)
    if "Error when sniffing file" in message:
        return re.sub(_SEARCHED, "", message)
    listed = re.search(_CANDIDATES, message)
    lines = listed[1].splitlines(keepends=True) if listed else []
    if len(lines) <= CANDIDATES_MAX + 1:
        return message
    call = re.search(_CALL, message)
    given = (call[1] or call[2] or "").replace("_LITERAL", "").split(", ") if call else []

    def likeness(line):
        arguments = line.partition("(")[2]
        arguments = arguments.rpartition(") ->")[0] or arguments.strip().removesuffix(")")
        types = [words[-1] for part in arguments.split(", ") if part != "/" and (words := part.split())]
        return (len(types) == len(given)) + sum(one == other for one, other in zip(types, given))

    chosen = sorted(lines, key=likeness, reverse=True)[:CANDIDATES_MAX]
    kept = "".join(line for line in lines if line in chosen)
    more = f"\tand {len(lines) - CANDIDATES_MAX} more\n\n"
    return message[:listed.start(1)] + kept + more + message[listed.end():]


def _of_file_list(found):
    """Where its text is no UTF-8, nothing else can be told, and DuckDB's solutions lose rows."""
    is_of_encoding = "utf-8 encoded" in found.string
    names = ("file",) if is_of_encoding else ("file", "delimiter", "quote", "header")
    lines = [line for line in found[2].splitlines(keepends=True) if line.split()[0] in names or "(Set By User)" in line]
    return "\n" + ("" if is_of_encoding or not found[1] else f"\n{found[1]}") + "\n" + "".join(lines)


def is_of_workbook(message, sql):
    return "Copy Function with name" in message and re.search(_TO_WORKBOOK, sql) is not None


def way(message, sql):
    """A line that ends in a newline, or nothing."""
    if not_encoded := re.search(_NOT_ENCODED, message):
        return _way_to_decode(message, sql, not_encoded[1])
    if is_of_workbook(message, sql):
        path = re.search(_COPY_TO, sql)
        name = repr(path[1]) if path else "'out.xlsx'"
        return f"(SQL writes no workbooks; in Python: df.to_excel({name}, index=False), where df is a DataFrame or hutch.sql(\"SELECT ...\"))\n"
    if re.search(_NO_FILE, message):
        return foreign_paths.way_in(message)
    instead = _instead(message)
    return f"(this is DuckDB: {instead})\n" if instead else ""


def _way_to_decode(message, sql, refused):
    from hutch_runner import text_encodings

    named = re.search(_FILE, message) or re.search(_PATH, sql)
    path = (named[1] or named[named.lastindex]) if named else ""
    encodings = text_encodings.of_file(path)
    looks, first = (text_encodings.in_words(encodings), encodings[0]) if encodings else ("", "")
    if refused is None:  # JSON, or read_text()
        return f"({path} looks like {looks}: open({path!r}, encoding={first!r}).read() in Python reads it)\n" if looks else ""
    ours = first if first == "utf-16" else "latin-1" if text_encodings.is_latin(path, encodings) else ""
    own = f"read_csv({path!r}, encoding={ours!r}) here, or " if ours and ours != refused else ""
    encoding = f"encoding={first!r}" if looks else "encoding_errors='replace'"
    way = f"df = pd.read_csv({path!r}, {encoding}{delimited.options_of_pandas(path, first or 'utf-8')})"
    what = f"{path} looks like {looks}" if looks else "bytes of it are no UTF-8"
    return f"({what}: {own}{way} in Python, which is a table here; ignore_errors leaves rows out)\n"


def _instead(message):
    function, kind, near, column = (re.search(pattern, message) for pattern in (_FUNCTION, _TYPE, _NEAR, _COLUMN))
    if function:
        return _FUNCTIONS.get(function[1].lower(), "")
    if kind:
        return _WORDS.get(kind[1].lower(), "")
    if near and re.search(_TOP, message):
        return "SELECT ... LIMIT 5"
    if near and near[1] == "," and re.search(_LIMIT, message):
        return "LIMIT count OFFSET start"
    if near:
        return _WORDS.get(near[1].lower(), "")
    if column and re.search(rf"\bDATEDIFF\s*\(\s*{re.escape(column[1])}\b", message, re.IGNORECASE):
        return f"date_diff('{column[1].lower()}', first, last)"
    if column and re.search(rf'[=<>(,]\s*"{re.escape(column[1])}"', message):
        return f"\"{column[1]}\" is a name; text stands in single quotes"
    return ""
