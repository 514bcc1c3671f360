// Forwards one HTTP message from one side to the other, part by part as it comes, in a framing of
// our own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>

#include "sandbox/egress/asio.h"
#include "sandbox/egress/connection.h"
#include "sandbox/egress/http_download.h"
#include "sandbox/egress/redactor.h"

namespace sandbox::egress {

inline constexpr std::size_t kBodyPartBytes = 32 * 1024;

enum class Forwarded { kWhole, kSenderGone, kReceiverGone };

// `redactor`, if any, looks through what it carries. `download` has a copy of it.
template <bool kIsRequest>
Task<Forwarded> forward(
    Connection& connection, Stream& from, boost::beast::flat_buffer& buffer,
    boost::beast::http::parser<kIsRequest, boost::beast::http::buffer_body>& parser, Stream& to,
    boost::beast::http::message<kIsRequest, boost::beast::http::buffer_body>& message,
    ByteCount& bytes, const Redactor* redactor = nullptr, HttpDownload* download = nullptr) {
  std::array<char, kBodyPartBytes> part;
  error_code failure;
  boost::beast::http::serializer<kIsRequest, boost::beast::http::buffer_body> serializer(message);
  message.body().data = nullptr;
  message.body().more = true;
  bytes += static_cast<std::int64_t>(
      co_await boost::beast::http::async_write_header(to, serializer, into(failure)));
  if (failure) co_return Forwarded::kReceiverGone;
  // Else it reads as much as the head was long, again and again.
  if (!parser.is_done()) buffer.reserve(buffer.max_size());
  std::size_t held = 0;  // at the beginning of the part, of the one before
  while (!serializer.is_done()) {
    std::size_t filled = held;
    if (!parser.is_done()) {
      parser.get().body().data = part.data() + held;
      parser.get().body().size = part.size() - held;
      co_await boost::beast::http::async_read_some(from, buffer, parser, into(failure));
      if (failure == boost::beast::http::error::need_buffer) failure.clear();
      if (failure) co_return Forwarded::kSenderGone;
      connection.saw_bytes();
      filled = part.size() - parser.get().body().size;
      if (filled == held && !parser.is_done()) continue;
    }
    const bool more = !parser.is_done();
    held = redactor == nullptr ? 0 : redactor->redact({part.data(), filled});
    if (!more) held = 0;
    const std::size_t ready = filled - held;
    if (ready == 0 && more) continue;
    if (download != nullptr) download->add({part.data(), ready});
    message.body().data = ready == 0 ? nullptr : part.data();
    message.body().size = ready;
    message.body().more = more;
    bytes += static_cast<std::int64_t>(
        co_await boost::beast::http::async_write(to, serializer, into(failure)));
    if (failure == boost::beast::http::error::need_buffer) failure.clear();
    if (failure) co_return Forwarded::kReceiverGone;
    std::copy_n(part.begin() + static_cast<std::ptrdiff_t>(ready), held, part.begin());
  }
  co_return Forwarded::kWhole;
}

}  // namespace sandbox::egress
