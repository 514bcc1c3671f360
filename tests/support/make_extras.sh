#!/bin/sh
# Makes build/extras: a Python with what the runners use where it is installed, from PyPI. Tests of
# DuckDB, IPython, plotly and altair run with it, and are skipped without it.
set -eu
cd "$(dirname "$0")/../.."
# Through the host's own Python, whose pandas and matplotlib the boxes have.
rm -rf build/extras
/usr/bin/python3 -m venv --system-site-packages build/extras
trap '[ $? -eq 0 ] || rm -rf build/extras' EXIT
# IPython is the host's own where it has it; else one of the age that Debian 12 and Ubuntu 24.04 have.
build/extras/bin/pip install --quiet --disable-pip-version-check \
  'duckdb>=1.0' 'ipython>=8.5,<9' 'plotly>=5' 'altair>=5'
