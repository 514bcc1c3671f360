#!/usr/bin/env bash
# What others read of the packages, judged by its formats' own schemas and linters: the entry of the MCP registry, the
# compose file, the chart. The judges are modules of Go, kept by those who define the formats, and Python packages.
#
#   tests/formats/run.sh
#
# Exit status 77, with the reason, where a judge cannot be had here; with CI=true that is a failure.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
registry=github.com/modelcontextprotocol/registry@v1.8.9
compose=github.com/compose-spec/compose-go/v2/cmd@v2.16.2
helm=helm.sh/helm/v3/cmd/helm@v3.22.0

say() { printf -- '-- %s (%s)\n' "$1" "$(date +%H:%M:%S)"; }
skip() {
  echo "no judge of the formats: $1" >&2
  [ "${CI:-}" = true ] && exit 1
  exit 77
}

command -v go >/dev/null || skip "Go is not installed; helm wants 1.26 or a newer one"
venv=$top/build/formats-venv
[ -x "$venv/bin/kubernetes-validate" ] || { /usr/bin/python3 -m venv "$venv" &&
  "$venv/bin/pip" install --quiet --disable-pip-version-check check-jsonschema==0.39.0 kubernetes-validate==1.37.0; } ||
  skip "pip does not reach an index"
mkdir -p "$top/build/packages"
work=$(mktemp -d "$top/build/formats.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" # no module of ours stands above: each is asked for with its version

say "The entry of the MCP registry"
module=$(go mod download -json "$registry" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p') || skip "$registry cannot be had"
entry=$top/$("$top/packaging/registry/build.sh")
schema=$(sed -n 's|.*/schemas/\([0-9-]*\)/server.schema.json",$|\1|p' "$entry")
"$venv/bin/check-jsonschema" --schemafile "$module/internal/validators/schemas/$schema.json" "$entry"

say "The compose file"
go run "$compose" "$top/packaging/oci/compose.yaml" >compose.yaml
grep -q 'image: hutch:latest' compose.yaml

say "The chart: helm is built first, some minutes"
GOBIN=$work go install "$helm" || skip "$helm cannot be built by $(go version)"
./helm lint --strict "$top/packaging/oci/chart"
./helm template plain "$top/packaging/oci/chart" >plain.yaml
./helm template told "$top/packaging/oci/chart" --set 'allowHosts={hutch.example.com}' \
  --set 'arguments={--packages,--allow,api.example.com}' --set storage.className=fast --set config='[network]' >told.yaml
"$venv/bin/kubernetes-validate" --strict plain.yaml told.yaml
