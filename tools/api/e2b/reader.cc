#include "tools/api/e2b/reader.h"

#include <memory>

namespace tools::api::e2b {

std::stop_token gone_of(mcp::http::Stream& stream) {
  const auto source = std::make_shared<std::stop_source>();
  stream.on_gone([source] { (void)source->request_stop(); });
  return source->get_token();
}

}  // namespace tools::api::e2b
