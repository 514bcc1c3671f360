#!/bin/sh
# Seconds since the epoch that packages have as the time of their files.
set -eu
if [ -n "${SOURCE_DATE_EPOCH:-}" ]; then
  echo "$SOURCE_DATE_EPOCH"
else
  git -C "$(dirname "$0")" log -1 --format=%ct
fi
