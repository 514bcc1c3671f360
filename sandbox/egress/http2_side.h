// An Http2Side is one side of a connection in HTTP/2 (RFC 9113): frames by nghttp2, bytes over a
// Stream. What a peer may send is bounded by windows, which open again as consume() says that it
// has gone on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/steady_timer.hpp>
#include <nghttp2/nghttp2.h>

#include "sandbox/egress/asio.h"
#include "sandbox/egress/connection.h"

namespace sandbox::egress {

// Http2Fields have pseudo-header fields first, and names in lower case.
using Http2Fields = std::vector<std::pair<std::string, std::string>>;

// An Http2Body is the body of one message on its way: filled as it comes, and sent as the receiver
// has room for it.
struct Http2Body {
  std::string bytes;
  std::size_t begin = 0;  // where the bytes that have not been sent begin
  std::size_t ready = 0;  // bytes from there on that may be sent now
  bool is_whole = false;  // nothing follows
  bool is_awaited = false;
  Http2Fields trailers;                    // RFC 9110 6.5
  std::function<void(std::size_t)> taken;  // so many bytes have gone

  [[nodiscard]] std::size_t size() const { return bytes.size() - begin; }
  std::size_t take(std::span<std::uint8_t> room);
  // Drops the bytes that have come and have not been sent. They are not counted as taken.
  void drop() {
    std::string().swap(bytes);
    begin = ready = 0;
    taken = {};
  }
};

class Http2Side {
 public:
  static constexpr std::uint32_t kRequestsAtOnceMost = 100;

  enum class Role { kServer, kClient };

  // A Receiver is told what the peer says, as read() reads it. `id`: the stream's (RFC 9113 5.1.1).
  class Receiver {
   public:
    // It gets interim answers and trailers too.
    virtual void take_head(std::int32_t id, Http2Fields fields, bool is_last) = 0;
    virtual void take_data(std::int32_t id, std::string_view part) = 0;
    virtual void take_end(std::int32_t id) = 0;
    // The stream is over: nothing comes any more, and nothing may be sent.
    virtual void take_close(std::int32_t id, std::uint32_t error) = 0;
    // It serves what is on, and no more.
    virtual void take_farewell() = 0;

   protected:
    ~Receiver() = default;
  };

  // `written` counts what write() has sent.
  Http2Side(Role role, Connection& connection, Stream& stream, ByteCount& written,
            Receiver& receiver);

  // Both go on until the stream's end, or close(). The second ends after the last answer, too, once
  // say_farewell() has been called.
  Task<void> read();
  Task<void> write();
  void close();

  // Bodies may be null, and stay until take_close(). Returns the stream's id, or less than 1.
  std::int32_t request(const Http2Fields& head, Http2Body* body);
  void answer(std::int32_t id, const Http2Fields& head, Http2Body* body);
  void answer_interim(std::int32_t id, const Http2Fields& head);
  // It is called after `body` has got more, or become whole.
  void go_on(std::int32_t id, Http2Body& body);
  void consume(std::int32_t id, std::size_t bytes);
  void reset(std::int32_t id, std::uint32_t error);
  // Says that it takes no further requests; the peer may repeat those elsewhere that it has sent
  // meanwhile.
  void say_farewell();

 private:
  struct Free {
    void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
  };
  struct Calls;

  bool collect(std::string& out);
  void count(const Http2Fields& head);

  Connection& connection_;
  Stream& stream_;
  ByteCount& written_;
  Receiver& receiver_;
  asio::steady_timer wake_;
  std::unique_ptr<nghttp2_session, Free> session_;
  Http2Fields head_;  // that is coming
  std::size_t head_bytes_ = 0;
  std::size_t heads_queued_bytes_ = 0;
  bool is_over_ = false;
};

}  // namespace sandbox::egress
