#!/bin/bash
# Not sh: dash drops variables such as npm_config_@scope:registry.
# npm takes the first folder from here up that has a package.json or node_modules for its project.
# /node_modules, which the environment has for everybody, must not make one of /.
program=/environment/node_modules/npm/bin/npm-cli.js
for argument; do
  case $argument in -g | --global | --prefix | --prefix=* | -C) exec node "$program" "$@" ;; esac
done
folder=$PWD
while [ -n "$folder" ]; do
  [ -e "$folder/package.json" ] || [ -d "$folder/node_modules" ] && exec node "$program" "$@"
  folder=${folder%/*}
done
exec node "$program" --prefix "$PWD" "$@"
