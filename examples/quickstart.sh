#!/usr/bin/env bash
# From a fresh Debian 12 or Ubuntu 24.04 to an agent's whole working day, in one command: installs
# what is missing, builds hutch and the packages that its sessions have, and lets an official MCP
# client do real work on real data.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packaging/install-packages.sh build runtime example
packaging/compile.sh release hutch
packaging/apparmor/install.sh --if-needed build/release/bin
build/release/bin/hutch environments build ||
  echo "Without it sessions have this machine's own packages; the same command makes it later" >&2

venv=build/example-venv
if ! cmp -s examples/requirements.txt "$venv/requirements.txt"; then
  echo "Setting up the example's MCP client"
  rm -rf "$venv"
  /usr/bin/python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r examples/requirements.txt
  # Only its data set is wanted: seattle-weather.csv, NOAA daily weather of 2012 to 2015.
  "$venv/bin/pip" download --quiet --disable-pip-version-check --no-deps -d "$venv" vega_datasets
  cp examples/requirements.txt "$venv/requirements.txt"
fi

exec "$venv/bin/python" examples/quickstart/quickstart.py \
  --hutch "$PWD/build/release/bin/hutch" --data "$venv"/vega_datasets-*.whl --output "$PWD/build/quickstart"
