"""The corpus of cases: tests/corpus/<language>.json, code in and what must come out.

A case is {name, steps, alone?, needs?}: steps of one session, in order, each {code, language?, expect?,
timeout_seconds?}. Cases share a session; one that is `alone` has its own, since it ends an
interpreter or changes it for good. `needs` is a Python module. A step without `expect` completes.
"""

import json
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "corpus"
LANGUAGES = sorted(file.stem for file in FOLDER.glob("*.json"))


def cases_of(language):
    return json.loads((FOLDER / f"{language}.json").read_text())


def check(run, expect, images):
    """`run` as run_code gives it, `images` how many pictures came with it."""
    expect = {"status": "completed", **expect}
    outputs = run["outputs"]
    main = next((o for o in outputs if o.get("is_main_result")), {})
    last = outputs[-1] if outputs else {}
    error = run.get("error") or {}
    truncated = run.get("truncated", {}).get("stdout", {})
    columns = main.get("json", {}).get("columns", []) if isinstance(main.get("json"), dict) else []
    found = {
        "status": lambda: run["status"], "exit_code": lambda: run.get("exit_code", 0),
        "stdout": lambda: run["stdout"], "stderr": lambda: run["stderr"],
        "value": lambda: main.get("text"), "json": lambda: main.get("json"),
        "formats": lambda: main.get("formats"), "outputs": lambda: len(outputs), "images": lambda: images,
        "chart": lambda: last.get("chart", {}).get("type"), "rows": lambda: main["json"]["rows"],
        "row_count": lambda: main["json"]["row_count"], "types": lambda: [c["type"] for c in columns],
        "error": lambda: error.get("name"), "cause": lambda: error.get("cause"),
        "truncated": lambda: truncated.get("total_bytes"),
    }
    parts = {"stdout_has": lambda: run["stdout"], "stderr_has": lambda: run["stderr"],
             "value_has": lambda: main.get("text", ""), "error_has": lambda: error.get("message", ""),
             "lost_has": lambda: error.get("lost", "")}
    for key, wanted in expect.items():
        if key in parts:
            assert wanted in parts[key](), (key, wanted, run)
        else:
            assert found[key]() == wanted, (key, wanted, found[key](), run)
    # Whatever happens, nobody is shown the runner's own files (but by node itself, as it aborts).
    if error.get("cause") != "signal":
        assert "hutch_runner" not in run["stderr"] and "/runners/" not in run["stderr"], run["stderr"]
