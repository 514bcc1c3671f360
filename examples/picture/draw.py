"""Lets hutch do what the README's picture shows, and draws what came back: picture.svg beside this file.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install mcp
    /tmp/venv/bin/python examples/picture/draw.py HUTCH [--check]

With --check nothing is written: the picture must be what the runs give today.
"""

import argparse
import asyncio
import html
import os
import pathlib
import sys
import tempfile

import mcp
from mcp import StdioServerParameters

PICTURE = pathlib.Path(__file__).with_name("picture.svg")
CODE = """\
import pandas as pd
import matplotlib.pyplot as plt

rain = pd.DataFrame({
    "day": ["Mon", "Tue", "Wed", "Thu", "Fri"],
    "mm": [3.5, 0.5, 0, 7.2, 4.1]})
rain.to_csv("rain.csv", index=False)
rain.plot.bar(x="day", y="mm", title="Rain")
plt.show()
rain.describe()"""
LATER = 'print(f"{rain.mm.sum():.1f} mm in five days")'
PROMISES = ["no network unless you allow a host", "your home and your secrets are not in it", "a run outlives kill -9",
            "no Docker, no KVM, no root, no account"]
WIDTH, HEIGHT, LINE = 920, 452, 19
STYLE = """\
text { font: 14px system-ui, sans-serif; fill: #e6e6e6 } .code { font: 13px monospace } .dim { fill: #8a98a8; font-size: 12px }
.head { fill: #f2c14e; font-weight: 600 } .box { fill: #17202a; stroke: #33414f } .bar { fill: #5fb3d9 } .axis { stroke: #8a98a8 }"""


async def ran(hutch):
    """Returns what the two runs gave, in this order."""
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "HOME": home}
        server = StdioServerParameters(command=hutch, args=["stdio", "--log-level", "error"], env=environment)
        async with mcp.Client(server) as client:
            runs = [(await client.call_tool("run_code", {"code": code})).structured_content for code in (CODE, LATER)]
            await client.call_tool("delete_session", {"session_id": runs[0]["session_id"]})
    for run in runs:
        if run["status"] != "completed":
            sys.exit(f"a run of the picture failed: {run}")
    return runs


def text(x, y, words, kind="", anchor="start"):
    return f'<text x="{x}" y="{y}" class="{kind}" text-anchor="{anchor}" xml:space="preserve">{html.escape(str(words))}</text>'


def box(x, y, width, height):
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" class="box"/>'


def code(x, y, lines):
    return [text(x, y + LINE * number, line, "code") for number, line in enumerate(lines) if line]


def bars(chart, x, y, width, height):
    """The chart's own numbers, as the client has them."""
    bottom, step = y + height - 42, (width - 40) / len(chart["elements"])
    most = max(element["value"] for element in chart["elements"])
    yield text(x + width / 2, y + 24, chart["title"], "", "middle")
    for number, element in enumerate(chart["elements"]):
        middle, tall = x + 20 + step * (number + 0.5), (bottom - y - 40) * element["value"] / most
        yield f'<rect x="{middle - step * 0.3:.1f}" y="{bottom - tall:.1f}" width="{step * 0.6:.1f}" height="{tall:.1f}" class="bar"/>'
        yield text(f"{middle:.1f}", bottom + 17, element["label"], "dim", "middle")
    yield f'<line x1="{x + 16}" y1="{bottom}" x2="{x + width - 16}" y2="{bottom}" class="axis"/>'
    yield text(x + width / 2, y + height - 8, "picture and numbers", "dim", "middle")


def table(rows, x, y, width, height):
    for number, (name, value) in enumerate(rows):
        yield text(x + 16, y + 26 + LINE * number, name, "code")
        yield text(x + width - 16, y + 26 + LINE * number, f"{value:.2f}", "code", "end")
    yield text(x + width / 2, y + height - 8, "table and text", "dim", "middle")


def drawn(first, later):
    chart = next(output["chart"] for output in first["outputs"] if "chart" in output)
    rows = next(output["json"]["rows"] for output in first["outputs"] if output.get("is_main_result"))
    (changed,) = first["files_changed"]
    parts = [text(24, 36, "An agent writes", "head"), box(16, 50, 420, 228), *code(32, 76, CODE.splitlines()),
             text(24, 312, "and later, in the same session", "head"), box(16, 326, 420, 44), *code(32, 353, [LATER]),
             text(484, 36, "and gets back", "head"),
             box(476, 50, 240, 228), *bars(chart, 476, 50, 240, 228), box(728, 50, 176, 228), *table(rows, 728, 50, 176, 228),
             text(484, 312, "with everything still there", "head"),
             box(476, 326, 240, 44), text(492, 353, later["stdout"].strip(), "code"),
             box(728, 326, 176, 44), text(744, 353, f"{pathlib.Path(changed['path']).name}, {changed['bytes']} bytes", "code"),
             '<path d="M444 160 h18 m-7 -7 l7 7 -7 7 M444 348 h18 m-7 -7 l7 7 -7 7" fill="none" class="axis"/>']
    for number, promise in enumerate(PROMISES):
        x, y = (24, 484)[number % 2], 408 + 24 * (number // 2)
        parts += [f'<circle cx="{x + 4}" cy="{y - 5}" r="4" class="bar"/>', text(x + 18, y, promise)]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">\n'
            f'<style>{STYLE}</style>\n<rect width="100%" height="100%" rx="10" fill="#1d2733"/>\n' + "\n".join(parts) + "\n</svg>\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hutch")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    picture = drawn(*asyncio.run(ran(options.hutch)))
    if not options.check:
        PICTURE.write_text(picture)
    elif PICTURE.read_text() != picture:
        sys.exit(f"{PICTURE.name} is not what the runs give today:\n{picture}")


if __name__ == "__main__":
    os.environ.pop("HUTCH_STATE_DIR", None)
    main()
