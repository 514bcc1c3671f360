# Writes OUTPUT, the build id of FOLDER: a hash of all that box, init and runners are made from.
# Untouched while it is the same, so that nothing is compiled for it.
cmake_minimum_required(VERSION 3.25)
file(GLOB_RECURSE sources RELATIVE "${FOLDER}" "${FOLDER}/*")
list(FILTER sources EXCLUDE REGEX "__pycache__/")
list(SORT sources)
set(all "")
foreach(source IN LISTS sources)
  file(SHA256 "${FOLDER}/${source}" hash)
  string(APPEND all "${source} ${hash}\n")
endforeach()
string(SHA256 build_id "${all}")
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "// Generated from what lies in sandbox/.
#include \"sandbox/wire/build_id.h\"

namespace sandbox::wire {

const char* const kBuildId = \"@build_id@\";

}  // namespace sandbox::wire
" @ONLY)
