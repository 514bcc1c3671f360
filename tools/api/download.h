// A file as the answer to a GET: its name, its validators, and the part that was asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "mcp/http/message.h"

namespace tools::api {

struct Download {
  base::UniqueFd file;  // regular, open for reading
  std::int64_t bytes = 0;
  std::string content_type;  // for text without a charset, which the bytes tell
  std::string filename;
  std::string etag;         // without quotes; empty: it has none
  bool is_inline = false;   // to be looked at where it stands; else to be kept
  std::string policy = "";  // Content-Security-Policy; empty: nothing of it may do anything
  std::shared_ptr<const void> room = nullptr;  // held until the file is sent, or nobody wants it
};

// Answers 200, 206, 304 or 416: RFC 9110 sections 13 and 14. Of several ranges none is heard.
mcp::http::Response answer_with(const mcp::http::Request& request, Download download);

// Returns the header as RFC 6266 has it: for every client the name in ASCII, for those that know
// more the name itself.
std::string content_disposition(std::string_view filename, bool is_inline);

// Adds the headers for what came out of a sandbox: no browser may take it for anything else, or
// keep it for others.
void add_careful_headers(mcp::http::Response& response, const std::string& policy);

}  // namespace tools::api
