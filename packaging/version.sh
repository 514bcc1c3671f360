# The version of all packages, from the one place that has it. Sourced.
hutch_version() {
  sed -n 's/^project(hutch VERSION \([0-9.]*\).*/\1/p' "$(dirname "${BASH_SOURCE[0]}")/../CMakeLists.txt"
}
