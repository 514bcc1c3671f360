# Writes OUTPUT, the build id of ROOT: a hash of all that box, init and runners are made from.
# Untouched while it is the same, so that nothing is compiled for it.
cmake_minimum_required(VERSION 3.25)
file(GLOB_RECURSE sources RELATIVE "${ROOT}" "${ROOT}/base/*" "${ROOT}/sandbox/*")
list(FILTER sources EXCLUDE REGEX "__pycache__/")
list(SORT sources)
set(all "")
foreach(source IN LISTS sources)
  file(SHA256 "${ROOT}/${source}" hash)
  string(APPEND all "${source} ${hash}\n")
endforeach()
string(SHA256 build_id "${all}")
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "// Generated from what lies in base/ and sandbox/.
#include \"sandbox/wire/build_id.h\"

namespace sandbox::wire {

const char* const kBuildId = \"@build_id@\";

}  // namespace sandbox::wire
" @ONLY)
