"""hutch token: made, listed, revoked; what is printed and what is refused."""

import json
import re
import subprocess

import pytest

from hutch_client import hutch_binary


def token(state, *arguments, check=True):
    return subprocess.run([hutch_binary(), "token", *arguments, "--state-dir", state], check=check,
                          capture_output=True, text=True, timeout=60)


def created(state, *arguments):
    lines = token(state, "create", *arguments).stdout.splitlines()
    assert re.fullmatch(r"hutch_[0-9a-f]{96}", lines[-1]), lines
    return lines[-1]


def listed(state):
    return json.loads(token(state, "ls", "--json").stdout)


def test_a_token_is_printed_last_and_only_once(state):
    secret = created(state, "--name", "laptop")
    assert listed(state)[0]["name"] == "laptop"
    for line in (token(state, "ls").stdout, token(state, "ls", "--json").stdout):
        assert secret not in line and secret[38:] not in line
    assert secret != created(state)


def test_what_a_token_is_good_for_is_listed(state):
    created(state)
    created(state, "--principal", "ci", "--scope", "read", "--expires-in", "2h")
    plain, bounded = listed(state)
    assert plain["principal"] == "local" and plain["scopes"] == []
    assert plain["expires_at"] is None and plain["last_used_at"] is None
    assert bounded["principal"] == "ci" and bounded["scopes"] == ["read"]
    assert bounded["expires_at"] > bounded["created_at"]
    assert "ci  read" in token(state, "ls").stdout


def test_revoking(state):
    created(state, "--name", "one")
    created(state, "--name", "two")
    assert token(state, "revoke", "one").stdout.startswith("revoked token_")
    assert [t["name"] for t in listed(state)] == ["two"]
    again = token(state, "revoke", "one", check=False)
    assert again.returncode == 1 and "no such token" in again.stderr
    token(state, "revoke", listed(state)[0]["id"])
    assert token(state, "ls").stdout.startswith("no tokens")


@pytest.mark.parametrize("arguments", [
    ["--expires-in", "0"], ["--expires-in", "-5"], ["--expires-in", "5y"], ["--expires-in", "9" * 40],
    ["--expires-in", "99999d"], ["--expires-in", ""], ["--scope", "write"], ["--scope", ""]])
def test_wrong_arguments_are_usage_errors(state, arguments):
    refused = token(state, "create", *arguments, check=False)
    assert refused.returncode == 2 and refused.stderr
    assert "hutch_" not in refused.stdout


@pytest.mark.parametrize("name", ["a b", "ä", "x" * 65, "token_1", "hutch_1", '["iss","sub"]', "a\nb"])
@pytest.mark.parametrize("option", ["--principal", "--name"])
def test_wrong_names_are_refused(state, option, name):
    refused = token(state, "create", option, name, check=False)
    assert refused.returncode == 1 and "letters, digits" in refused.stderr
    assert listed(state) == []


def test_a_principal_may_not_be_empty(state):
    assert token(state, "create", "--principal", "", check=False).returncode != 0
