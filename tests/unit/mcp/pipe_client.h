// A client at the other end of serve_stdio(): pipes or one socket pair, a thread for the server,
// and waits that end. A test that hangs for kPatience fails.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include <nlohmann/json.hpp>

#include "mcp/stdio_transport.h"

namespace mcp::fake {

inline constexpr std::chrono::seconds kPatience{60};

// Something that happens once; anyone may wait for it.
class Event {
 public:
  void set() {
    const std::lock_guard lock(mutex_);
    set_ = true;
    changed_.notify_all();
  }
  [[nodiscard]] bool is_set() {
    const std::lock_guard lock(mutex_);
    return set_;
  }
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [this] { return set_; });
  }
  // Ends as soon as `stop` is requested. True when the event came first.
  bool wait(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    return changed_.wait(lock, stop, [this] { return set_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool set_ = false;
};

class PipeClient {
 public:
  enum class Kind { kPipes, kSocket };

  explicit PipeClient(const Server& server, StdioOptions options = {}, Kind kind = Kind::kPipes) {
    int to_server[2];
    int from_server[2];
    if (kind == Kind::kPipes) {
      EXPECT_EQ(::pipe2(to_server, O_CLOEXEC), 0);
      EXPECT_EQ(::pipe2(from_server, O_CLOEXEC), 0);
      out_ = to_server[1];
      in_ = from_server[0];
      server_in_ = to_server[0];
      server_out_ = from_server[1];
    } else {
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, to_server), 0);
      out_ = in_ = to_server[0];
      server_in_ = server_out_ = to_server[1];
    }
    stop_ = ::eventfd(0, EFD_CLOEXEC);
    options.in_fd = server_in_;
    options.out_fd = server_out_;
    options.stop_fd = stop_;
    thread_ = std::thread([this, &server, options] {
      serve_stdio(server, options);
      ended_.set();
    });
  }

  ~PipeClient() {
    close_input();
    close_output();
    EXPECT_TRUE(ended_.wait()) << "serve_stdio does not end";
    thread_.join();
    for (const int fd : {server_in_, server_out_ == server_in_ ? -1 : server_out_, stop_}) {
      if (fd >= 0) ::close(fd);
    }
  }
  PipeClient(const PipeClient&) = delete;
  PipeClient& operator=(const PipeClient&) = delete;

  // False when the server reads no more for that long.
  bool send_raw(std::string_view bytes, std::chrono::milliseconds patience = kPatience) const {
    while (!bytes.empty()) {
      pollfd entry{out_, POLLOUT, 0};
      if (::poll(&entry, 1, static_cast<int>(patience.count())) <= 0) return false;
      const ssize_t sent =
          is_socket() ? ::send(out_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT)
                      : ::write(out_, bytes.data(), std::min<std::size_t>(bytes.size(), 4096));
      if (sent < 0 && errno != EAGAIN) return false;
      if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void send(const nlohmann::json& message) const { EXPECT_TRUE(send_raw(message.dump() + "\n")); }
  void request(const nlohmann::json& id, const std::string& method,
               nlohmann::json params = nlohmann::json::object()) const {
    send({{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}});
  }
  void call(const nlohmann::json& id, const std::string& tool,
            nlohmann::json arguments = nlohmann::json::object()) const {
    request(id, "tools/call", {{"name", tool}, {"arguments", std::move(arguments)}});
  }
  void cancel(const nlohmann::json& id) const {
    send({{"jsonrpc", "2.0"},
          {"method", "notifications/cancelled"},
          {"params", {{"requestId", id}}}});
  }
  void initialize(const std::string& revision = "2025-11-25") {
    request("init", "initialize", {{"protocolVersion", revision}});
    EXPECT_EQ(read()["id"], "init");
  }

  // The next message; null at the end.
  nlohmann::json read() {
    std::size_t end = 0;
    while ((end = buffer_.find('\n')) == std::string::npos) {
      if (!read_more()) {
        EXPECT_EQ(buffer_, "") << "a line was cut";
        return nullptr;
      }
    }
    const std::string line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    return nlohmann::json::parse(line);
  }

  void close_input() {  // the server's
    if (out_ < 0) return;
    if (is_socket()) {
      ::shutdown(out_, SHUT_WR);
    } else {
      ::close(out_);
    }
    out_ = -1;
  }
  void close_output() {
    if (in_ >= 0) ::close(in_);
    in_ = -1;
  }
  void stop() const {
    const std::uint64_t one = 1;
    EXPECT_EQ(::write(stop_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  }
  bool wait_for_end() {
    const bool ended = ended_.wait();
    // The rest that can be read ends where the server's side ends.
    if (ended && server_out_ != server_in_ && server_out_ >= 0) {
      ::close(server_out_);
      server_out_ = -1;
    } else if (ended) {
      ::shutdown(server_out_, SHUT_WR);
    }
    return ended;
  }
  [[nodiscard]] bool ended() { return ended_.is_set(); }

 private:
  [[nodiscard]] bool is_socket() const { return server_in_ == server_out_; }

  bool read_more() {
    pollfd entry{in_, POLLIN, 0};
    const auto patience = std::chrono::milliseconds(kPatience).count();
    if (::poll(&entry, 1, static_cast<int>(patience)) <= 0) return false;
    char bytes[65536];
    const ssize_t got = ::read(in_, bytes, sizeof bytes);
    if (got <= 0) return false;
    buffer_.append(bytes, static_cast<std::size_t>(got));
    return true;
  }

  int out_ = -1;
  int in_ = -1;
  int server_in_ = -1;
  int server_out_ = -1;
  int stop_ = -1;
  Event ended_;
  std::string buffer_;
  std::thread thread_;
};

}  // namespace mcp::fake
