#!/bin/bash
# Not sh: dash drops variables such as npm_config_@scope:registry.
# npm takes the first folder from here up that has a package.json or node_modules for its project.
# /node_modules, which the environment has for everybody, must not make one of /.
program=/environment/node_modules/npm/bin/npm-cli.js
for argument; do
  case $argument in -g | --global | --prefix | --prefix=* | -C) exec node "$program" "$@" ;; esac
done
folder=$PWD
while [ -n "$folder" ] && [ ! -e "$folder/package.json" ] && [ ! -d "$folder/node_modules" ]; do
  folder=${folder%/*}
done
if [ -n "$folder" ]; then
  node "$program" "$@"
else
  folder=$PWD
  node "$program" --prefix "$PWD" "$@"
fi
status=$?
browsers=$folder/node_modules/playwright-core/browsers.json
[ ! -e "$browsers" ] || /environment/bin/python3 -m hutch_playwright "$browsers"
exit "$status"
