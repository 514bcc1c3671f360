// Says something on every open stream now and then, so that whatever is between does not end it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mcp/http/message.h"
#include "mcp/http/sse.h"

namespace mcp::http {

class KeepAlive {
 public:
  void add(const std::shared_ptr<Stream>& stream) {
    const std::lock_guard lock(mutex_);
    streams_.push_back(stream);
  }

  // A stream that takes nothing is not asked again.
  void send_comments() {
    std::vector<std::shared_ptr<Stream>> open;
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(streams_, [](const auto& stream) { return stream.expired(); });
      for (const auto& stream : streams_) open.push_back(stream.lock());
    }
    for (const auto& stream : open) {
      // A client that does not read hears enough without this.
      if (stream != nullptr && stream->has_room()) {
        (void)stream->send(std::string(kKeepAliveComment));
      }
    }
  }

  [[nodiscard]] std::size_t count() {
    const std::lock_guard lock(mutex_);
    std::erase_if(streams_, [](const auto& stream) { return stream.expired(); });
    return streams_.size();
  }

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<Stream>> streams_;
};

}  // namespace mcp::http
