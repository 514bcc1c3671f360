// Contexts of the code interpreter. Each language has one that its code shares when it names none,
// "default-python"; others have an interpreter of their own in the box, and end with it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "mcp/http/route.h"
#include "sandbox/run.h"
#include "sessions/session.h"
#include "tools/tools.h"

namespace tools::api::e2b {

struct CodeContext {
  sandbox::Language language = sandbox::Language::kPython;
  std::string id;  // RunRequest::context: empty for the shared one
};

// Returns the language of the name; Python when it is empty.
base::Result<sandbox::Language> language_named(const std::string& name);

// Fails with kNotFound when there never was such a context, or it is no more.
base::Result<CodeContext> context_named(const Services& services, const sessions::Session& session,
                                        const std::string& id);

std::vector<mcp::http::Route> context_routes(const Services& services);

}  // namespace tools::api::e2b
