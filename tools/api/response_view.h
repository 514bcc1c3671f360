// A response as its documents show it: sandbox_results and share_file items, status, usage, error.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "sandbox/run.h"
#include "sessions/share_table.h"
#include "tools/program_run.h"

namespace tools::api {

// Holds what was posted, which is kept beside the run.
struct PostedCall {
  std::string call_id;
  std::string code;
  bool background = false;
};

nlohmann::json call_to_json(const PostedCall& call);
// Returns empty members where there is nothing: a server was killed before it had written it down.
PostedCall call_from_json(const std::string& text);

struct ResponseParts {
  std::string id;
  sessions::Session session;
  struct Call {
    PostedCall posted;
    Seen seen;
  };
  std::vector<Call> calls;              // the oldest first
  std::vector<sessions::Share> shares;  // the session's
  bool is_cut = false;                  // earlier calls are left out
};

nlohmann::json response_to_json(const ResponseParts& parts);
nlohmann::json file_to_json(const sessions::Share& share);

}  // namespace tools::api
