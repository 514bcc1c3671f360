// Values of Mcp-* headers, and the heads they come in.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "mcp/http/body_framing.h"
#include "mcp/http/head_filter.h"
#include "mcp/http/header_value.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto value = mcp::http::decode_header_value(input);
  if (value && value->size() > input.size()) std::abort();

  const mcp::http::Bounds bounds;
  const auto filtered = mcp::http::filter_head(input, bounds, true);
  // The text that is let through has whole lines, and no percent sign that could be decoded.
  if (filtered.refusal == 0) {
    if (!filtered.text.ends_with("\r\n\r\n")) std::abort();
    const std::size_t headers = filtered.text.find("\r\n");
    for (std::size_t at = filtered.text.find('%', headers); at != std::string::npos;
         at = filtered.text.find('%', at + 1)) {
      const std::size_t colon = filtered.text.rfind(':', at);
      const std::size_t line = filtered.text.rfind('\n', at);
      const bool in_value = colon != std::string::npos && colon > line;
      if (in_value && filtered.text.compare(at, 3, "%25") != 0) std::abort();
    }
  }

  mcp::http::ChunkCheck chunks(1U << 16);
  if (chunks.feed(input) && chunks.too_large()) std::abort();
  return 0;
}
