// MIME types by content, with libmagic, helped by the name where content cannot tell.
#pragma once

#include <string>
#include <string_view>

namespace share {

// Returns the type of a file by the beginning of its content, and its name;
// "application/octet-stream" when nothing better is known. Safe from many threads.
std::string mime_type_of(std::string_view content, std::string_view filename);

// Returns the type by the name alone, where the content is not at hand; empty when the name does
// not tell.
std::string mime_type_of_name(std::string_view filename);

}  // namespace share
