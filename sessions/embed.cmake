# Writes INPUT into the header OUTPUT as a constexpr string_view, byte for byte.
file(READ "${INPUT}" bytes HEX)
string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
file(WRITE "${OUTPUT}" "// Generated from schema.sql.\n#pragma once\n\n#include <string_view>\n\nnamespace sessions {\n\n\
inline constexpr char kSchemaSqlBytes[] = {${bytes}};\n\
inline constexpr std::string_view kSchemaSql{kSchemaSqlBytes, sizeof kSchemaSqlBytes};\n\n}  // namespace sessions\n")
