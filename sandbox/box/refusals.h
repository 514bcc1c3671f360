// Finds in a text what the kernel refused, as programs and languages put it. The text is the box's:
// it can claim anything, and is believed only together with what was counted.
#pragma once

#include <string_view>

namespace sandbox::box {

// Returns whether the text says that fork(2) or clone(2) gave EAGAIN: too many processes or
// threads.
bool tells_of_refused_fork(std::string_view text);

// Returns whether the text tells of ENOSPC or EDQUOT, or EFBIG in the words of a program.
bool tells_of_full_disk(std::string_view text);

// Returns whether it is the message of an exception that is nothing else than EFBIG. What refused
// the file is not there to be counted.
bool is_too_large_error(std::string_view message);

// Memory was asked for and not given, in the words of programs and languages.
bool tells_of_refused_memory(std::string_view text);
// Returns whether the text says that a sanitizer got no address space for its shadow of the memory.
bool tells_of_refused_shadow(std::string_view text);
// V8 has ended the process, or a thread of it, since the heap was full.
bool tells_of_full_heap(std::string_view text);

// Returns whether the text says that there is no route, or nobody who knows names.
bool tells_of_no_network(std::string_view text);
bool tells_of_unreachable_address(std::string_view text);
// A connection was refused, and the text does not say that the session itself was asked.
bool tells_of_closed_port(std::string_view text);

}  // namespace sandbox::box
