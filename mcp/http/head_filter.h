// Checks the head of an HTTP request (request line and headers) byte by byte before a library gets
// to parse it, and takes out what the library would act on but must not.
#pragma once

#include <string>
#include <string_view>

#include "mcp/http/bounds.h"

namespace mcp::http {

struct FilteredHead {
  int refusal = 0;   // HTTP status; 0: fine
  std::string text;  // for the library
  // This is the header Range, which the library would act on in a way of its own; empty: none.
  std::string range;
};

// `head` ends with its blank line. `escape_percent`: the library percent-decodes header values,
// which HTTP does not know, so that they have to be escaped to arrive as they were sent.
FilteredHead filter_head(std::string_view head, const Bounds& bounds, bool escape_percent);

}  // namespace mcp::http
