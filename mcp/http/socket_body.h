// The body of the request that a connection is being served: what came with its head, then what
// the socket gives, within time and bounds.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "mcp/http/library.h"
#include "mcp/http/link.h"

namespace mcp::http {

class SocketBody final : public BodySource {
 public:
  SocketBody(LinkHost& host, Link& link)
      : host_(host), link_(link), deadline_(begun_ + host.bounds().body_patience) {}
  ~SocketBody() override;
  SocketBody(const SocketBody&) = delete;
  SocketBody& operator=(const SocketBody&) = delete;

  bool belongs_to(const std::string& principal_id) override;
  std::size_t read(char* bytes, std::size_t size) override;
  void write_now(std::string_view bytes) override;
  bool keep(std::size_t bytes) override;
  [[nodiscard]] int failure() const override { return failure_; }

 private:
  std::size_t fail(int status);
  bool wait(short events);
  bool wait_in_turn(short events);
  bool wait_counted(short events);
  bool wait_long(short events, std::chrono::milliseconds patience);
  [[nodiscard]] bool is_to_give_way() const;
  [[nodiscard]] bool poll_for(short events, std::chrono::milliseconds patience) const;

  LinkHost& host_;
  Link& link_;
  std::string owner_;
  Link::Clock::time_point begun_ = Link::Clock::now();
  Link::Clock::time_point deadline_;
  std::size_t body_ = 0;
  std::size_t kept_ = 0;  // the part of body_ that is counted among all bodies
  int failure_ = 400;
};

}  // namespace mcp::http
