"""How many characters clients get of sixty answers: those that show text, and those that show structuredContent.

    tests/bench/words.py OTHER_HUTCH [--show NAME]

Both builds answer the same calls, in the order in which an agent makes them. A fact is what its user wants to know of an
answer; each has to be in both forms of it.

The aims: in each form the median answer has at most half of its characters, and no fact is lost. The status is 1 when one is missed.
Beside it stands the median of the sixty ratios, to which short answers count as much as long ones: `hello` cannot be half as long.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
sys.path.insert(0, str(HERE))

from aims import Aims  # noqa: E402
from hutch_client import Client, hutch_binary  # noqa: E402

HALF = 0.5
SALES = ("import pandas as pd, numpy as np\nrng = np.random.default_rng(5)\n"
         "df = pd.DataFrame({'region': rng.choice(['north', 'south', 'east', 'west'], 1000), 'product': rng.choice(list('ABCDEF'), 1000),\n"
         "    'units': rng.integers(1, 90, 1000), 'price': rng.uniform(5, 50, 1000).round(2), 'day': pd.date_range('2024-01-01', periods=1000)})\n"
         "df['revenue'] = df.units * df.price\n")
PLOT = "import matplotlib; matplotlib.use('Agg'); import matplotlib.pyplot as plt\n"

# (name, tool, arguments, facts)
TASKS = [
    ("hello", "run_code", {"code": "print('hello')"}, ["hello"]),
    ("value", "run_code", {"code": "6 * 7"}, ["42"]),
    ("assign", "run_code", {"code": "x = 5"}, ["completed"]),
    ("frame made", "run_code", {"code": SALES + "df.to_csv('sales.csv', index=False)"}, ["sales.csv", "created"]),
    ("head", "run_code", {"code": "df.head()"}, ["region", "revenue"]),
    ("whole frame", "run_code", {"code": "df"}, ["region", "1000"]),
    ("sorted", "run_code", {"code": "df.sort_values('revenue', ascending=False)"}, ["revenue", "1000"]),
    ("describe", "run_code", {"code": "df.describe()"}, ["mean", "units"]),
    ("info", "run_code", {"code": "df.info()"}, ["1000 entries"]),
    ("group", "run_code", {"code": "df.groupby(['region', 'product']).revenue.sum()"}, ["north", "revenue"]),
    ("pivot", "run_code", {"code": "df.pivot_table(index='product', columns='region', values='revenue', aggfunc='sum')"}, ["north", "product"]),
    ("wide", "run_code", {"code": "pd.DataFrame(rng.normal(size=(1000, 40)), columns=[f'feature_{i}' for i in range(40)])"}, ["feature_0", "feature_39", "1000"]),
    ("correlation", "run_code", {"code": "pd.DataFrame(rng.normal(size=(200, 15)), columns=[f'feature_{i}' for i in range(15)]).corr()"}, ["feature_0", "feature_14"]),
    ("print frame", "run_code", {"code": "print(df.to_string())"}, ["region", "999"]),
    ("value counts", "run_code", {"code": "df['product'].value_counts()"}, ["product"]),
    ("records", "run_code", {"code": "df.to_dict('records')"}, ["region", "revenue"]),
    ("line chart", "run_code", {"code": PLOT + "fig, ax = plt.subplots(); ax.plot(df.day, df.revenue, label='revenue'); ax.set_title('Revenue'); ax.legend(); plt.show()"}, ["Revenue", "line"]),
    ("bar chart", "run_code", {"code": "s = df.groupby('region').revenue.sum(); ax = s.plot.bar(title='By region'); plt.show()"}, ["By region", "north", "bar"]),
    ("scatter", "run_code", {"code": "plt.scatter(df.units, df.revenue); plt.xlabel('units'); plt.ylabel('revenue'); plt.show()"}, ["units", "scatter"]),
    ("histogram", "run_code", {"code": "plt.hist(df.revenue, bins=30); plt.title('Spread'); plt.show()"}, ["Spread", "histogram"]),
    ("several", "run_code", {"code": "fig, axes = plt.subplots(2, 2)\nfor ax, c in zip(axes.flat, ['units', 'price', 'revenue', 'units']):\n    ax.plot(df[c].cumsum()); ax.set_title(c)\nplt.show()"}, ["units", "price"]),
    ("box plot", "run_code", {"code": "df.boxplot(column='revenue', by='region'); plt.show()"}, ["north"]),
    ("sql file", "run_code", {"language": "sql", "code": "SELECT region, sum(revenue) AS total FROM 'sales.csv' GROUP BY region ORDER BY region"}, ["north", "total"]),
    ("sql all", "run_code", {"language": "sql", "code": "SELECT * FROM 'sales.csv'"}, ["region", "1000"]),
    ("sql made", "run_code", {"language": "sql", "code": "CREATE TABLE best AS SELECT * FROM 'sales.csv' ORDER BY revenue DESC LIMIT 100"}, ["CREATE"]),
    ("sql hundred", "run_code", {"language": "sql", "code": "SELECT * FROM best"}, ["region", "100"]),
    ("sql describe", "run_code", {"language": "sql", "code": "DESCRIBE best"}, ["region"]),
    ("sql mistake", "run_code", {"language": "sql", "code": "SELECT regoin FROM best"}, ["regoin", "failed"]),
    ("name error", "run_code", {"code": "print(undefined_name)"}, ["undefined_name", "NameError"]),
    ("deep error", "run_code", {"code": "def a(n): return b(n)\ndef b(n): return c(n)\ndef c(n): return n / 0\na(1)"}, ["ZeroDivisionError"]),
    ("pandas error", "run_code", {"code": "df['no_such_column']"}, ["KeyError", "no_such_column"]),
    ("syntax error", "run_code", {"code": "for x in range(3)\n    print(x)"}, ["SyntaxError"]),
    ("recursion", "run_code", {"code": "def f(n): return f(n + 1)\nf(0)"}, ["RecursionError"]),
    ("js value", "run_code", {"language": "javascript", "code": "[1, 2, 3].map((x) => x * 2)"}, ["2", "4", "6"]),
    ("js object", "run_code", {"language": "javascript", "code": "Object.fromEntries(Array.from({length: 300}, (_, i) => ['key' + i, {id: i, name: 'item ' + i}]))"}, ["key0"]),
    ("js error", "run_code", {"language": "javascript", "code": "undefinedFunction()"}, ["ReferenceError", "undefinedFunction"]),
    ("typescript", "run_code", {"language": "typescript", "code": "interface P { x: number }\nconst p: P = { x: 3 };\np.x"}, ["3"]),
    ("ls", "run_code", {"language": "bash", "code": "ls -la /workspace"}, ["sales.csv"]),
    ("project", "run_code", {"language": "bash", "code": "mkdir -p app/src app/node_modules && for i in $(seq 300); do echo \"module.exports = $i\" >app/node_modules/m$i.js; done; for i in $(seq 12); do echo \"line $i\" >app/src/file$i.py; done; ls app"}, ["src", "node_modules"]),
    ("log", "run_code", {"language": "bash", "code": "for i in $(seq 2000); do echo \"2024-01-01 12:00:00 INFO worker-$((i % 7)) processed item $i in $((i * 37 % 100)) ms\"; done"}, ["processed item 1 ", "processed item 2000 "]),
    ("repeated", "run_code", {"code": "for _ in range(3000): print('WARNING: retrying the connection')\nprint('gave up')"}, ["WARNING: retrying the connection", "gave up"]),
    ("build", "run_code", {"language": "bash", "code": "for i in $(seq 400); do echo \"[ $((i / 4))%] Building CXX object CMakeFiles/app.dir/src/module_$i.cc.o\"; done; echo 'error: ld returned 1' >&2; exit 1"}, ["Building CXX object", "ld returned 1", "failed"]),
    ("progress", "run_code", {"code": "import sys\nfor i in range(500):\n    sys.stdout.write(f'\\rstep {i}/500'); sys.stdout.flush()\nprint('\\ndone')"}, ["step 499/500", "done"]),
    ("primes", "run_code", {"code": "[n for n in range(2, 20000) if all(n % d for d in range(2, int(n ** 0.5) + 1))]"}, ["2, 3, 5"]),
    ("dict", "run_code", {"code": "{f'key_{i}': {'id': i, 'tags': ['a', 'b'], 'score': i / 7} for i in range(500)}"}, ["key_0"]),
    ("array", "run_code", {"code": "np.arange(10000).reshape(100, 100)"}, ["0"]),
    ("string", "run_code", {"code": "'lorem ipsum ' * 3000"}, ["lorem ipsum"]),
    ("json text", "run_code", {"code": "import json\nprint(json.dumps([{'id': i, 'name': f'user {i}', 'active': i % 2 == 0} for i in range(400)], indent=2))"}, ["user 0"]),
    ("help", "run_code", {"code": "help(pd.DataFrame.merge)"}, ["merge"]),
    ("files made", "run_code", {"code": "import os\nos.makedirs('out', exist_ok=True)\nfor i in range(30): open(f'out/part_{i}.txt', 'w').write('x' * i)"}, ["part_0.txt"]),
    ("list", "list_files", {}, ["sales.csv", "app"]),
    ("list all", "list_files", {"recursive": True}, ["sales.csv", "file1.py", "part_29.txt", "node_modules"]),
    ("write", "write_file", {"path": "notes.md", "content": "# Notes\n\nfirst\nsecond\n"}, ["notes.md"]),
    ("edit", "edit_file", {"path": "notes.md", "old_text": "first", "new_text": "third"}, ["notes.md"]),
    ("read", "read_file", {"path": "notes.md"}, ["third"]),
    ("read csv", "read_file", {"path": "sales.csv", "limit": 2000}, ["region"]),
    ("background", "run_code", {"language": "bash", "code": "python3 -m http.server 8000", "background": True}, ["running"]),
    ("runs", "get_run", {}, ["run_"]),
    ("sessions", "list_sessions", {}, ["session_"]),
    ("new session", "create_session", {"name": "other"}, ["session_", "ready"]),
]


def answers(binary, shown):
    # The environment of both: the measured ones differ in what they say of it.
    with tempfile.TemporaryDirectory() as state, Client(state, binary=binary, env={
            "HUTCH_ENVIRONMENTS_DIR": os.environ.get("HUTCH_ENVIRONMENTS_DIR", os.path.expanduser("~/.local/share/hutch/environments"))}) as client:
        client.run("1")  # some words are said once, about the session
        for name, tool, arguments, facts in TASKS:
            result = client.result(tool, **arguments)
            text = "\n".join(block["text"] for block in result["content"] if block["type"] == "text")
            structured = json.dumps(result.get("structuredContent"), ensure_ascii=False, separators=(",", ":"))
            if name == shown:
                print(f"--- {binary}\n{text}\n--- structuredContent\n{structured}\n")
            yield name, text, structured, [fact for fact in facts if fact not in text or fact not in structured]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other")
    parser.add_argument("--show", help="the answers to this one, of both")
    options = parser.parse_args()
    assert len(TASKS) == 60
    sizes, lost, aims = [], [], Aims()
    print(f"{'':14} {'text':>16} {'structured':>16}")
    for before, after in zip(answers(options.other, options.show), answers(hutch_binary(), options.show)):
        row = [len(before[1]), len(after[1]), len(before[2]), len(after[2])]
        sizes.append(row)
        lost += [f"{after[0]}: {fact!r}" for fact in after[3]]
        print(f"{after[0]:14} {row[0]:7} {row[1]:8} {row[2]:8} {row[3]:7}")
    for name, first in (("text", 0), ("structured", 2)):
        one, two = (statistics.median(row[first + side] for row in sizes) for side in (0, 1))
        each = statistics.median(row[first + 1] / row[first] for row in sizes)
        print(f"{name}: median {one:.0f} to {two:.0f} ({two / one:.2f}), of each {each:.2f}, all {sum(row[first + 1] for row in sizes) / sum(row[first] for row in sizes):.2f}")
        aims.at_most(f"the median answer's {name}, to that of the other build", two / one, HALF)
    aims.that(not lost, f"{len(lost)} facts are lost: {', '.join(lost)}")
    aims.end()


if __name__ == "__main__":
    main()
