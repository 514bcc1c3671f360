#include "tools/mcp/share_link.h"

#include "base/percent_encoding.h"
#include "sessions/share_table.h"
#include "tools/sandbox_uri.h"

namespace tools {

ShareLink link_to(const sessions::Share& share, const std::string& public_url) {
  const std::string page = public_url + "/shared/" + share.id;
  return {page, page + "/" + base::percent_encoded(share.filename, "/")};
}

}  // namespace tools
