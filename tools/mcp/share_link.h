// Under which addresses a shared file is found by whoever has them.
#pragma once

#include <string>

#include "sessions/share.h"

namespace tools {

struct ShareLink {
  std::string page;  // for people: what it is, and how it looks
  std::string file;
};

// `public_url` has no "/" at its end.
ShareLink link_to(const sessions::Share& share, const std::string& public_url);

}  // namespace tools
