"""Classes of sessions stay small, typed and tested alone, and who lives where in a session's directory is said once."""

import pathlib
import re

import pytest

TREE = pathlib.Path(__file__).parents[2]
HEADERS = sorted((TREE / "sessions").glob("*.h"))
TESTS = TREE / "tests/unit/sessions"
METHODS_MAX = 20
# The file of each source has a test of its own; these have not, for the reason beside them.
WITHOUT_A_TEST = {}
# The detail of an audit row is of any form: a type that only base and its table take apart.
WITH_A_VALUE = {"audit_table.h"}
PARTS = r"workspace|home|tmp|runs|calls|uploads|state|restarts|lock|box\.sock|box\.log|dropped_outputs"
SPELLED = re.compile(rf'(directory|path)\)? *\+ *"/({PARTS})"|"/runs/" *\+|starts_with\("/runs/"')
SPELLING = {"sandbox/session_parts.h"}


def code_of(text):
    """The text without comments, and without what strings and template arguments hold."""
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r'"(\\.|[^"\\])*"', '""', text)
    text = re.sub(r"^[ \t]*#(\\\n|[^\n])*", "", text, flags=re.MULTILINE)
    while (shorter := re.sub(r"(?<=\w)<[^<>;{}]*>", "", text)) != text:
        text = shorter
    return text


def bodies(code):
    """Yields, for each class and struct, which of both it is, its name, and what stands in its braces."""
    for head in re.finditer(r"\b(?<!enum )(class|struct) (\w+)(?: final)?(?: *: *[^{;()]*)?\s*\{", code):
        depth, at = 1, head.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(code[at], 0)
            at += 1
        yield head[1], head[2], code[head.end():at - 1]


def statements(body):
    """The declarations of a class itself, with {} for what is in braces."""
    while (flat := re.sub(r"\{[^{}]*\}", "\0", body)) != body:
        body = flat
    body = re.sub(r"\b(public|private|protected):", r";\1;", body)
    # A body of a function ends its declaration, and initial values of members do not.
    return [" ".join(one.split()) for one in re.sub(r"(\)[^;\0=]*)\0", r"\1;", body).replace("\0", "{}").split(";")]


def public_methods(kind, name, body):
    """Declarations of functions that any caller may call, but for how one is made, copied and ended."""
    is_public, found = kind == "struct", []
    for one in statements(body):
        one = re.sub(r"(?<!operator) = (?!delete).*", "", one)  # without the value that it begins with
        if one in ("public", "private", "protected"):
            is_public = one == "public"
        elif is_public and "(" in one and not re.match(r"(friend|using|static_assert|typedef)\b", one):
            called = re.search(r"(~?\w+|operator *\S+?) *\(", one)[1]
            if called.lstrip("~") != name and not one.endswith("= delete") and not called.startswith("operator"):
                found.append(called)
    return found


def classes(header):
    return list(bodies(code_of(header.read_text())))


def json_in(text):
    """Members and parameters that are JSON, or a text that holds it, in the code of a header."""
    code = code_of(text)
    return re.findall(r"\b(?:nlohmann|ordered_json|json|\w+_json)\b", code) + re.findall(r"#include [<\"][^\n]*nlohmann[^\n]*", text)


def spelled_parts(text):
    return [line.strip() for line in text.splitlines() if SPELLED.search(re.sub(r"//.*", "", line))]


@pytest.mark.parametrize("header", HEADERS, ids=lambda header: header.name)
def test_no_class_of_sessions_does_everything(header):
    for kind, name, body in classes(header):
        methods = public_methods(kind, name, body)
        assert len(methods) <= METHODS_MAX, f"{name} has {len(methods)} public methods: {methods}"


@pytest.mark.parametrize("header", HEADERS, ids=lambda header: header.name)
def test_no_type_of_sessions_holds_json(header):
    text = header.read_text()
    assert not json_in(text), "rows are types; their JSON is in session_rows.cc and the tables' own files"
    assert ("json_value.h" in text) == (header.name in WITH_A_VALUE)


def test_each_class_of_sessions_has_a_test_of_its_own():
    wanted = {path.stem for path in (TREE / "sessions").glob("*.cc")}
    wanted |= {header.stem for header in HEADERS if any(kind == "class" for kind, _, _ in classes(header))}
    lacking = sorted(name for name in wanted if not (TESTS / f"{name}_test.cc").exists())
    assert lacking == sorted(WITHOUT_A_TEST), "tests/unit/sessions/NAME_test.cc for each, or a reason in WITHOUT_A_TEST"
    for name in wanted - set(WITHOUT_A_TEST):
        test, header = (TESTS / f"{name}_test.cc").read_text(), TREE / f"sessions/{name}.h"
        assert f'#include "sessions/{name}.h"' in test, f"{name}_test.cc is of another file"
        # A file of several classes has all of them in its test.
        several = re.findall(r"^class (\w+)[^;]*?\{", code_of(header.read_text()), re.MULTILINE)
        assert len(several) < 2 or not [one for one in several if not re.search(rf"\b{one}\b", test)], several


def test_who_lives_where_in_a_session_s_directory_is_said_once():
    for folder in ("sandbox", "sessions", "share", "tools"):
        for path in sorted((TREE / folder).rglob("*")):
            place = str(path.relative_to(TREE))
            if path.suffix in (".cc", ".h") and place not in SPELLING:
                assert not spelled_parts(path.read_text()), f"{place}: sandbox/session_parts.h has these names"


def test_methods_of_a_class_are_counted_rightly():
    text = """
#define A(x) x
// void no();
class One final : public Base<int()> {
  void hidden();

 public:
  struct Inner { int a(); };
  explicit One(int a) : a_(a) {}
  ~One();
  One(const One&) = delete;
  One& operator=(const One&) = delete;
  static base::Result<std::unique_ptr<One>> open(const std::string& path = "a;(");  // void no();
  [[nodiscard]] const std::string& path() const { return f({path_}); }
  template <typename T>
  One& bind(const std::optional<T>& value) { if (value) { return *this; } return *this; }
  using Call = std::function<void(int)>;
  std::function<void(int)> called;
  Call other_call = [](int) { return f(); };
  friend bool operator==(const One&, const One&) = default;
  int member = 5;
  Other other{1};
  int last();

 private:
  void none();
};
struct Two { void a(); private: void b(); };
enum class Three { kA };
class Four;
"""
    found = {name: public_methods(kind, name, body) for kind, name, body in bodies(code_of(text))}
    assert found == {"One": ["open", "path", "bind", "last"], "Two": ["a"], "Inner": ["a"]}


def test_json_and_spelled_parts_are_found():
    assert json_in("std::string a;  // json\nf(\"json\");\n") == []
    assert json_in("struct A { nlohmann::json b; };") == ["nlohmann", "json"]
    assert json_in("std::string limits_json;") == ["limits_json"]
    assert spelled_parts('x = session_directory + "/workspace";\n// directory + "/home"\n"/runs/" + id;') == [
        'x = session_directory + "/workspace";', '"/runs/" + id;']
