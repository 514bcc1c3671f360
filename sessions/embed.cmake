# Writes INPUT into the header OUTPUT as a constexpr string_view NAME in NAMESPACE, byte for byte.
file(READ "${INPUT}" bytes HEX)
string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
get_filename_component(file "${INPUT}" NAME)
file(WRITE "${OUTPUT}" "// Generated from ${file}.\n#pragma once\n\n#include <string_view>\n\nnamespace ${NAMESPACE} {\n\n\
inline constexpr char ${NAME}Bytes[] = {${bytes}};\n\
inline constexpr std::string_view ${NAME}{${NAME}Bytes, sizeof ${NAME}Bytes};\n\n}  // namespace ${NAMESPACE}\n")
