#include "sandbox/egress/http2_side.h"

#include <algorithm>
#include <array>
#include <exception>
#include <new>

#include <boost/asio/write.hpp>

#include "sandbox/egress/http_relay.h"

namespace sandbox::egress {
namespace {

constexpr std::int32_t kStreamWindowBytes = 128 * 1024;
constexpr std::int32_t kConnectionWindowBytes = 512 * 1024;
constexpr std::size_t kFrameWriteBytes = 32 * 1024;
constexpr std::size_t kFrameReadBytes = 16 * 1024;
// At most this many frames and bytes of heads wait for a peer who reads nothing: windows bound
// bodies alone.
constexpr std::size_t kFramesQueuedMost = 1000;
constexpr std::size_t kHeadsQueuedBytesMost = 4 << 20;
constexpr std::size_t kFieldOverheadBytes = 32;  // RFC 9113 6.5.2

std::vector<nghttp2_nv> view_of(const Http2Fields& fields) {
  const auto bytes = [](const std::string& text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  std::vector<nghttp2_nv> view;
  view.reserve(fields.size());
  for (const auto& [name, value] : fields) {
    // In no table of a peer's: among them may be a credential (RFC 7541 7.1.3).
    view.push_back(
        {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NO_INDEX});
  }
  return view;
}

ssize_t give(nghttp2_session* session, std::int32_t id, std::uint8_t* room, std::size_t size,
             std::uint32_t* flags, nghttp2_data_source* source, void*) {
  auto& body = *static_cast<Http2Body*>(source->ptr);
  const std::size_t taken = body.take({room, size});
  if (body.is_whole && body.size() == 0) {
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (body.trailers.empty()) return static_cast<ssize_t>(taken);
    const auto view = view_of(body.trailers);
    if (nghttp2_submit_trailer(session, id, view.data(), view.size()) != 0) {
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
  } else if (taken == 0) {
    body.is_awaited = true;
    return NGHTTP2_ERR_DEFERRED;
  }
  return static_cast<ssize_t>(taken);
}

class Provider {
 public:
  explicit Provider(Http2Body* body) : has_body_(body != nullptr) {
    provider_.source.ptr = body;
    provider_.read_callback = &give;
  }
  [[nodiscard]] const nghttp2_data_provider* get() const {
    return has_body_ ? &provider_ : nullptr;
  }

 private:
  nghttp2_data_provider provider_{};
  bool has_body_;
};

}  // namespace

std::size_t Http2Body::take(std::span<std::uint8_t> room) {
  const std::size_t size = std::min(room.size(), ready);
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(begin), size, room.begin());
  begin += size;
  ready -= size;
  if (begin >= bytes.size() / 2) bytes.erase(0, std::exchange(begin, 0));
  if (bytes.empty()) std::string().swap(bytes);
  if (size > 0 && taken) taken(size);
  return size;
}

// nghttp2 calls these functions. Nothing is thrown through it.
struct Http2Side::Calls {
  template <typename Call>
  static int guarded(void* user, const Call& call) {
    try {
      return call(*static_cast<Http2Side*>(user));
    } catch (const std::exception&) {
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
  }

  static int begin_head(nghttp2_session*, const nghttp2_frame*, void* user) {
    return guarded(user, [](Http2Side& side) {
      side.head_.clear();
      side.head_bytes_ = 0;
      return 0;
    });
  }

  static int field(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name,
                   std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                   std::uint8_t, void* user) {
    return guarded(user, [&](Http2Side& side) -> int {
      side.head_bytes_ += name_size + value_size + kFieldOverheadBytes;
      if (side.head_bytes_ > kHeadBytesMax) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
      side.head_.emplace_back(std::string(reinterpret_cast<const char*>(name), name_size),
                              std::string(reinterpret_cast<const char*>(value), value_size));
      return 0;
    });
  }

  static int frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    return guarded(user, [frame](Http2Side& side) {
      const bool is_last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
      if (frame->hd.type == NGHTTP2_HEADERS) {
        side.receiver_.take_head(frame->hd.stream_id, std::exchange(side.head_, {}), is_last);
      } else if (frame->hd.type == NGHTTP2_DATA && is_last) {
        side.receiver_.take_end(frame->hd.stream_id);
      } else if (frame->hd.type == NGHTTP2_GOAWAY) {
        side.receiver_.take_farewell();
      }
      return 0;
    });
  }

  static int data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* bytes,
                  std::size_t size, void* user) {
    return guarded(user, [&](Http2Side& side) {
      side.receiver_.take_data(id, {reinterpret_cast<const char*>(bytes), size});
      return 0;
    });
  }

  static int closed(nghttp2_session*, std::int32_t id, std::uint32_t error, void* user) {
    return guarded(user, [&](Http2Side& side) {
      side.receiver_.take_close(id, error);
      return 0;
    });
  }
};

Http2Side::Http2Side(Role role, Connection& connection, Stream& stream, ByteCount& written,
                     Receiver& receiver)
    : connection_(connection),
      stream_(stream),
      written_(written),
      receiver_(receiver),
      wake_(stream.get_executor(), asio::steady_timer::time_point::max()) {
  nghttp2_session_callbacks* calls = nullptr;
  nghttp2_option* options = nullptr;
  if (nghttp2_session_callbacks_new(&calls) != 0) throw std::bad_alloc();
  const std::unique_ptr<nghttp2_session_callbacks, decltype(&nghttp2_session_callbacks_del)>
      held_calls(calls, &nghttp2_session_callbacks_del);
  if (nghttp2_option_new(&options) != 0) throw std::bad_alloc();
  const std::unique_ptr<nghttp2_option, decltype(&nghttp2_option_del)> held_options(
      options, &nghttp2_option_del);
  nghttp2_session_callbacks_set_on_begin_headers_callback(calls, &Calls::begin_head);
  nghttp2_session_callbacks_set_on_header_callback(calls, &Calls::field);
  nghttp2_session_callbacks_set_on_frame_recv_callback(calls, &Calls::frame);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, &Calls::data);
  nghttp2_session_callbacks_set_on_stream_close_callback(calls, &Calls::closed);
  nghttp2_option_set_no_auto_window_update(options, 1);
  nghttp2_option_set_no_closed_streams(options, 1);
  nghttp2_session* session = nullptr;
  const auto make =
      role == Role::kServer ? &nghttp2_session_server_new2 : &nghttp2_session_client_new2;
  if (make(&session, calls, this, options) != 0) throw std::bad_alloc();
  session_.reset(session);
  const std::array<nghttp2_settings_entry, 3> settings{
      {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindowBytes},
       {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kHeadBytesMax},
       role == Role::kServer
           ? nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kRequestsAtOnceMost}
           : nghttp2_settings_entry{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}}};
  if (nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) != 0 ||
      nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0,
                                            kConnectionWindowBytes) != 0) {
    throw std::bad_alloc();
  }
}

Task<void> Http2Side::read() {
  std::array<std::uint8_t, kFrameReadBytes> part;
  error_code failure;
  while (!is_over_) {
    const std::size_t got = co_await stream_.async_read_some(asio::buffer(part), into(failure));
    if (failure || is_over_) co_return;
    connection_.saw_bytes();
    const ssize_t used = nghttp2_session_mem_recv(session_.get(), part.data(), got);
    wake_.cancel();
    if (used < 0 || nghttp2_session_get_outbound_queue_size(session_.get()) > kFramesQueuedMost) {
      co_return;
    }
  }
}

// As much as is good to send at once; false: there is nothing now.
bool Http2Side::collect(std::string& out) {
  while (out.size() < kFrameWriteBytes) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_.get(), &bytes);
    if (size < 0) close();
    if (size == 0) heads_queued_bytes_ = 0;
    if (size <= 0) break;
    out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  }
  return !out.empty();
}

Task<void> Http2Side::write() {
  std::string out;
  error_code failure;
  while (!is_over_) {
    if (collect(out)) {
      co_await asio::async_write(stream_, asio::buffer(out), into(failure));
      if (failure) co_return;
      written_ += static_cast<std::int64_t>(out.size());
      out.clear();
      continue;
    }
    std::string().swap(out);
    if (is_over_ || nghttp2_session_want_read(session_.get()) == 0) co_return;
    co_await wake_.async_wait(into(failure));
  }
}

void Http2Side::count(const Http2Fields& head) {
  for (const auto& [name, value] : head) heads_queued_bytes_ += name.size() + value.size();
  if (heads_queued_bytes_ > kHeadsQueuedBytesMost) close();
  wake_.cancel();
}

void Http2Side::close() {
  is_over_ = true;
  wake_.cancel();
}

std::int32_t Http2Side::request(const Http2Fields& head, Http2Body* body) {
  const auto view = view_of(head);
  const Provider provider(body);
  count(head);
  return nghttp2_submit_request(session_.get(), nullptr, view.data(), view.size(), provider.get(),
                                nullptr);
}

void Http2Side::answer(std::int32_t id, const Http2Fields& head, Http2Body* body) {
  const auto view = view_of(head);
  const Provider provider(body);
  (void)nghttp2_submit_response(session_.get(), id, view.data(), view.size(), provider.get());
  count(head);
}

void Http2Side::answer_interim(std::int32_t id, const Http2Fields& head) {
  const auto view = view_of(head);
  (void)nghttp2_submit_headers(session_.get(), NGHTTP2_FLAG_NONE, id, nullptr, view.data(),
                               view.size(), nullptr);
  count(head);
}

void Http2Side::go_on(std::int32_t id, Http2Body& body) {
  if (!std::exchange(body.is_awaited, false)) return;
  (void)nghttp2_session_resume_data(session_.get(), id);
  wake_.cancel();
}

void Http2Side::consume(std::int32_t id, std::size_t bytes) {
  (void)nghttp2_session_consume(session_.get(), id, bytes);
  wake_.cancel();
}

void Http2Side::reset(std::int32_t id, std::uint32_t error) {
  (void)nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, error);
  wake_.cancel();
}

void Http2Side::say_farewell() {
  (void)nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE,
                              nghttp2_session_get_last_proc_stream_id(session_.get()),
                              NGHTTP2_NO_ERROR, nullptr, 0);
  wake_.cancel();
}

}  // namespace sandbox::egress
