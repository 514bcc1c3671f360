"""The corpus through the real server: five languages, values, errors, ends, charts, tables."""

import pytest

import corpus
from hutch_client import Client

CASES = [pytest.param(language, case, id=f"{language}: {case['name']}")
         for language in corpus.LANGUAGES for case in corpus.cases_of(language)]
_has = {}  # module -> whether the boxes' Python has it


def test_the_corpus_is_large():
    assert len(CASES) >= 150 and corpus.LANGUAGES == ["bash", "javascript", "python", "sql", "typescript"]


@pytest.mark.parametrize("language, case", CASES)
def test_case(shared, language, case):
    module = case.get("needs")
    if module and not has(shared, module):
        pytest.skip(f"the boxes' Python has no {module}")
    session = {"session_id": shared.call("create_session")["session_id"]} if case.get("alone") else {}
    try:
        for step in case["steps"]:
            options = {"timeout_seconds": step["timeout_seconds"]} if "timeout_seconds" in step else {}
            result = shared.result("run_code", code=step["code"], language=step.get("language", language),
                                   **options, **session)
            assert not result["isError"], result
            images = sum(content["type"] == "image" for content in result["content"])
            corpus.check(result["structuredContent"], step.get("expect", {}), images)
    finally:
        if session:
            shared.call("delete_session", **session)


def has(client: Client, module):
    if module not in _has:
        _has[module] = client.run(f"import {module}")["status"] == "completed"
    return _has[module]
