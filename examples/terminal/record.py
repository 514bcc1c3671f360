"""Runs what docs/clients.md shows at a terminal, and draws it: terminal.svg beside this file.

    examples/terminal/record.py HUTCH [--check]

With --check nothing is written: the picture must be what the commands say today.
"""

import argparse
import html
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PICTURE = pathlib.Path(__file__).with_name("terminal.svg")
COMMANDS = [
    """echo 'rain = {"mon": 3.5, "tue": 0.5}' | hutch run --session demo -""",
    """echo 'print(sum(rain.values()))' | hutch run --session demo -   # variables stay""",
    """echo 'console.log([3.5, 0.5].map(mm => mm * 10))' | hutch run -l js -   # JavaScript, SQL, bash too""",
    """echo 'ls /home; cat /etc/shadow' | hutch run -l bash -   # nothing of yours""",
    """echo 'curl -sS https://example.com' | hutch run -l bash -   # no network""",
]
WIDTH, LINE, LEFT, SIZE = 100, 20, 20, 14


def recorded(hutch):
    """Each command with what it printed."""
    with tempfile.TemporaryDirectory() as home:
        environment = {"HOME": home, "PATH": f"{pathlib.Path(hutch).resolve().parent}:/usr/bin:/bin", "LANG": "C.UTF-8"}
        for command in COMMANDS:
            done = subprocess.run(["bash", "-c", command.partition("   #")[0]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, cwd=home, env=environment, timeout=120)
            yield command, re.sub(r"session_\w+", "session_…", done.stdout)
        subprocess.run(["hutch", "sessions", "rm", "demo"], capture_output=True, env=environment, timeout=120)


def drawn(session):
    lines = []
    for command, output in session:
        words, mark, comment = command.partition("   #")
        lines.append(f'<tspan class="p">$</tspan> {html.escape(words.rstrip())}'
                     + (f'<tspan class="c">  # {html.escape(comment.strip())}</tspan>' if mark else ""))
        lines += [html.escape(line[start:start + WIDTH]) for line in output.splitlines() for start in range(0, len(line), WIDTH)]
        lines.append("")
    height = LINE * (len(lines) + 1)
    text = "\n".join(f'<text x="{LEFT}" y="{LINE * (number + 1) + 8}" xml:space="preserve">{line}</text>'
                     for number, line in enumerate(lines) if line)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT * 2 + WIDTH * 8.5:.0f}" height="{height}">\n'
            f'<style>text {{ font: {SIZE}px monospace; fill: #e6e6e6 }} .p {{ fill: #f2c14e }} .c {{ fill: #8a98a8 }}</style>\n'
            f'<rect width="100%" height="100%" rx="10" fill="#1d2733"/>\n{text}\n</svg>\n')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hutch")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    picture = drawn(recorded(options.hutch))
    if not options.check:
        PICTURE.write_text(picture)
    elif PICTURE.read_text() != picture:
        sys.exit(f"{PICTURE.name} is not what the commands say today:\n{picture}")


if __name__ == "__main__":
    os.environ.pop("HUTCH_STATE_DIR", None)
    main()
