// The pipes that processes of ended runs still write into: the oldest are closed when they become
// many, since each holds descriptors of hutch-box.
#pragma once

#include <deque>
#include <memory>

#include "sandbox/box/stream_reader.h"

namespace sandbox::box {

class LeftStreams {
 public:
  explicit LeftStreams(std::size_t streams_max) : streams_max_(streams_max) {}

  void add(StreamReader& reader) {
    std::erase_if(readers_, [](const auto& one) { return one.expired(); });
    readers_.push_back(reader.weak_from_this());
    if (readers_.size() <= streams_max_) return;
    if (const auto oldest = readers_.front().lock()) oldest->close();
    readers_.pop_front();
  }

 private:
  const std::size_t streams_max_;
  std::deque<std::weak_ptr<StreamReader>> readers_;
};

}  // namespace sandbox::box
