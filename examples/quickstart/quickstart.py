"""Does what an agent does with hutch in a day's work, step by step, through an official MCP client.

Called by examples/quickstart.sh. Every step checks what it shows: a wrong answer ends it.
"""

import argparse
import asyncio
import hashlib
import json
import pathlib
import shutil
import tempfile
import time
import zipfile

from session import Hutch, show, step

CLEAN = """
import pandas as pd
weather = pd.read_csv("seattle-weather.csv", parse_dates=["date"])
weather = weather.dropna()
weather["month"] = weather["date"].dt.to_period("M").astype(str)
print(f"{len(weather)} days, {weather['date'].min():%Y-%m-%d} to {weather['date'].max():%Y-%m-%d}")
weather.groupby("weather")["precipitation"].agg(["count", "mean"]).round(2)
"""

# Where pandas is not installed the standard library does it.
CLEAN_PLAIN = """
import csv, collections
rows = [r for r in csv.DictReader(open("seattle-weather.csv")) if all(r.values())]
print(f"{len(rows)} days, {rows[0]['date']} to {rows[-1]['date']}")
collections.Counter(r["weather"] for r in rows)
"""

MONTHLY = """
monthly = weather.groupby("month")["precipitation"].sum().round(1)
monthly.to_csv("monthly.csv", header=True)
float(monthly.max())
"""

MONTHLY_PLAIN = """
monthly = collections.defaultdict(float)
for r in rows:
    monthly[r["date"][:7].replace("/", "-")] += float(r["precipitation"])
with open("monthly.csv", "w") as f:
    f.write("month,precipitation\\n")
    f.writelines(f"{m},{v:.1f}\\n" for m, v in sorted(monthly.items()))
round(max(monthly.values()), 1)
"""

QUERY = """
SELECT substr(month, 1, 4) AS year, round(sum(precipitation), 1) AS millimetres
FROM "monthly.csv" GROUP BY year ORDER BY year;
"""

MODEL = """
import duckdb, plotly.express as px
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
weather.to_parquet("weather.parquet")
monthly.to_frame().to_excel("monthly.xlsx")
measured = ["temp_max", "temp_min", "wind"]
days = duckdb.sql("SELECT *, precipitation > 0 AS rainy FROM 'weather.parquet'").df()
known, asked, rain, truth = train_test_split(days[measured], days["rainy"], random_state=1)
model = RandomForestClassifier(random_state=1).fit(known, rain)
print(f"{model.score(asked, truth):.0%} of {len(asked)} days told right; "
      f"the workbook has {len(pd.read_excel('monthly.xlsx'))} months")
px.bar(x=model.feature_importances_.round(3), y=measured, title="What tells of rain")
"""

CHECK = """
const rows = require('fs').readFileSync('monthly.csv', 'utf8').trim().split('\\n').slice(1);
const wettest = rows.map(r => r.split(',')).sort((a, b) => b[1] - a[1])[0];
({ month: wettest[0], millimetres: Number(wettest[1]) })
"""

CHART = """
import matplotlib.pyplot as plt
months, values = zip(*(line.split(",") for line in open("monthly.csv").read().split()[1:]))
fig, ax = plt.subplots(figsize=(9, 3.5))
ax.bar(range(len(months)), [float(v) for v in values], label="precipitation")
ax.set_xticks(range(0, len(months), 6), [months[i] for i in range(0, len(months), 6)])
ax.set_title("Rain in Seattle"); ax.set_ylabel("mm per month")
fig.tight_layout(); fig.savefig("rain.png", dpi=110)
plt.show()
"""

FETCH = """
import time, urllib.request
for attempt in range(100):
    try:
        page = urllib.request.urlopen("http://127.0.0.1:8000/monthly.csv")
        break
    except OSError:
        time.sleep(0.1)
print(page.status, page.readline().decode().strip())
"""

SIZES = """
import humanize, urllib.request
try:
    urllib.request.urlopen("https://example.com")
except OSError as refusal:
    print("example.com:", refusal)
humanize.naturalsize(1_475_000_000)
"""

LONG = """
import time
for i in range(12):
    print("part", i, flush=True)
    time.sleep(0.5)
print("all parts done")
"""


def data_set(wheel: pathlib.Path) -> str:
    with zipfile.ZipFile(wheel) as archive:
        return archive.read("vega_datasets/_data/seattle-weather.csv").decode()


def same(what, found, expected):
    if found != expected:
        raise SystemExit(f"quickstart: {what} is {found!r}, expected {expected!r}")


async def analyse(hutch: Hutch, csv: str) -> None:
    step("The agent writes a real data set into its computer")
    written = await hutch.call("write_file", path="seattle-weather.csv", content=csv)
    show(f"{written['path']}: {written['bytes']} bytes, sha256 {written['sha256'][:12]}…")
    same("sha256", written["sha256"], hashlib.sha256(csv.encode()).hexdigest())

    step("It cleans the data in Python, and keeps a variable")
    cleaned = await hutch.run(CLEAN, unless_missing="pandas")
    plain = cleaned["status"] != "completed"
    if plain:
        show("no pandas on this machine: the standard library does it")
        cleaned = await hutch.run(CLEAN_PLAIN)
    show(cleaned["stdout"], *(o.get("text", "") for o in cleaned["outputs"]))

    step("A second call uses the variable of the first")
    monthly = await hutch.run(MONTHLY_PLAIN if plain else MONTHLY)
    wettest = float(monthly["outputs"][0]["text"])
    show(f"wettest month: {wettest} mm; files changed: "
         + ", ".join(c["path"] for c in monthly["files_changed"]))

    step("It asks the file in SQL")
    table = await hutch.run(QUERY, language="sql")
    show(table["outputs"][-1]["text"])
    same("years", len(table["outputs"][-1]["json"]["rows"]), 4)

    step("It learns from the data, and writes Parquet and Excel")
    learnt = await hutch.run(MODEL, unless_missing="duckdb")
    if learnt["status"] == "completed":
        chart = learnt["outputs"][-1]["chart"]
        show(learnt["stdout"], f"chart data: {json.dumps(chart['elements'])}")
        same("months in the workbook", "has 48 months" in learnt["stdout"], True)
    else:
        show("no duckdb on this machine: hutch environments build makes what has it")

    step("It checks a figure in JavaScript")
    checked = await hutch.run(CHECK, language="javascript")
    show(checked["outputs"][0]["text"])
    same("wettest month in both languages", f"{wettest}" in checked["outputs"][0]["text"], True)


async def draw_and_recover(hutch: Hutch) -> bool:
    """Whether there is a chart."""
    step("It draws a chart, and the picture comes back")
    chart = await hutch.run(CHART, unless_missing="matplotlib")
    drawn = chart["status"] == "completed"
    if drawn:
        show(f"{hutch.images} picture(s); chart data: "
             + json.dumps(chart["outputs"][0].get("chart", {}))[:110] + "…")
        same("a picture came", hutch.images > 0, True)
    else:
        show("no matplotlib on this machine: " + chart["stderr"].splitlines()[-1])

    step("It makes a mistake, reads the traceback, and goes on where it was")
    failed = await hutch.run("wettest_year = 2012\nraise ValueError('units?')", check=False)
    show(failed["stderr"].rstrip(), f"cause: {failed['error']['cause']}; {failed['error']['survived']}")
    same("variable after the error", (await hutch.run("wettest_year"))["outputs"][0]["text"], "2012")
    return drawn


async def install(hutch: Hutch) -> None:
    step("It installs a package, and reaches nothing but the package index")
    installed = await hutch.call("install_packages", packages=["humanize"])
    if "No module named pip" in installed["stderr"]:
        return show("no pip on this machine: hutch environments build makes what has it")
    if installed["status"] != "completed":
        raise SystemExit(f"quickstart: pip {installed['status']}:\n{installed['stdout']}\n{installed['stderr']}")
    used = await hutch.run(SIZES)
    show(installed["stdout"].splitlines()[-1], used["stdout"].rstrip(), used["outputs"][0]["text"],
         f"reached: {', '.join(installed['network']['allowed'])}; refused: {used['network']['refused'][0]['host']}")
    same("what the package says", used["outputs"][0]["text"], "'1.5 GB'")


async def background_and_share(hutch: Hutch, output: pathlib.Path, files: list[str]) -> None:
    step("It runs a server in the background and uses it")
    server = await hutch.call("run_code", language="bash", background=True,
                              code="exec python3 -m http.server 8000 --bind 127.0.0.1")
    fetched = await hutch.run(FETCH)
    show(fetched["stdout"].strip())
    await hutch.call("cancel_run", run_id=server["run_id"])

    step(f"It shares what it has made: it is yours, in {output}")
    for name in files:
        shared = await hutch.call("share_file", path=name)
        content = pathlib.Path(shared["host_path"]).read_bytes()
        same("folder", pathlib.Path(shared["host_path"]).parent, output)
        same("sha256 on the host", hashlib.sha256(content).hexdigest(), shared["sha256"])
        show(f"{shared['mime_type']}, {shared['bytes']} bytes: {shared['host_path']}")


async def survive(options, state: str) -> None:
    step("The server is killed with SIGKILL in the middle of a run")
    async with Hutch(options.hutch, state, "--session", "quickstart") as hutch:
        run = await hutch.call("run_code", code=LONG, background=True)
        await hutch.until_output(run["run_id"], "part 1")
        show(f"{run['run_id']} has said 'part 1'; now: kill -9 {hutch.kill()}")
    step("A new server fetches that run's result")
    async with Hutch(options.hutch, state, "--session", "quickstart") as hutch:
        ended = await hutch.until_ended(run["run_id"])
        same("status", ended["status"], "completed")
        show(ended["stdout"].replace("\n", " | "))
        same("nothing was lost", ended["stdout"].count("part"), 13)
        for session in (await hutch.call("list_sessions"))["sessions"]:
            if session["status"] != "destroyed":
                await hutch.call("delete_session", session_id=session["session_id"])


def print_configuration(hutch: str) -> None:
    step("To use it from Claude Desktop, put this into claude_desktop_config.json")
    print(json.dumps({"mcpServers": {"hutch": {"command": hutch, "args": ["stdio"]}}}, indent=2))
    print(f"\nand for Claude Code: claude mcp add hutch -- {hutch} stdio\n"
          "\n`stdio --packages` lets its sessions install packages, `--allow HOST` reach a host.\n")


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hutch", required=True)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--output", required=True, type=pathlib.Path, help="folder for what it shares")
    options = parser.parse_args()
    state = tempfile.mkdtemp(prefix="hutch-quickstart-")
    started = time.monotonic()
    try:
        async with Hutch(options.hutch, state, "--share-dir", str(options.output), "--packages") as hutch:
            step(f"An MCP client starts hutch and finds {len(await hutch.tools())} tools")
            await analyse(hutch, data_set(options.data))
            drawn = await draw_and_recover(hutch)
            await install(hutch)
            await background_and_share(hutch, options.output, ["monthly.csv"] + ["rain.png"] * drawn)
        await survive(options, state)
    finally:
        shutil.rmtree(state, ignore_errors=True)
    print_configuration(options.hutch)
    print(f"All steps done in {time.monotonic() - started:.1f} s.")


asyncio.run(main())
