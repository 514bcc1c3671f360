"""Whoever runs hutch as a service by our files has it asked at the right places, with a log that says what went."""

import pathlib
import re

PACKAGING = pathlib.Path(__file__).parents[2] / "packaging"
CHART = PACKAGING / "oci/chart/templates/hutch.yaml"


def probe(name):
    return re.search(rf"^ *{name}:\n *httpGet: \{{path: (\S+), port: (\w+)\}}$", CHART.read_text(), re.M).groups()


def test_the_chart_asks_whether_it_is_ready_and_whether_it_lives():
    assert probe("readinessProbe") == ("/readyz", "http")
    assert probe("livenessProbe") == ("/healthz", "http")
    assert "{name: http, containerPort: 8931}" in CHART.read_text() and "--listen=0.0.0.0:8931" in CHART.read_text()


def units_of_servers():
    units = [path for path in PACKAGING.rglob("*.service") if re.search(r"^ExecStart=.* serve\b", path.read_text(), re.M)]
    assert len(units) >= 2
    return units


def test_services_store_what_sessions_know_before_they_end():
    for unit in units_of_servers():
        lines = unit.read_text().splitlines()
        assert "KillMode=mixed" in lines and "TimeoutStopSec=180" in lines, unit
        assert any(line.startswith("ExecStart=") and line.endswith(" serve --store-at-end") for line in lines), unit


def test_services_log_what_hutch_does_by_itself():
    for unit in units_of_servers():
        assert "Environment=HUTCH_DEFAULT_LOG_LEVEL=info\n" in unit.read_text(), unit
    assert "- {name: HUTCH_DEFAULT_LOG_LEVEL, value: info}\n" in CHART.read_text()
    assert "{HUTCH_DEFAULT_LOG_LEVEL: info}" in (PACKAGING / "oci/compose.yaml").read_text()
