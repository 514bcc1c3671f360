// A request to a host of packages, answered from what is kept where that may be (RFC 9111).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>

#include "sandbox/egress/asio.h"
#include "sandbox/egress/connection.h"
#include "sandbox/egress/downloads.h"

namespace sandbox::egress {

class HttpDownload {
 public:
  // Returns whether the answer to such a request may be one for everybody. Takes out of it what an
  // answer could depend on besides: what one session says of itself reaches no other.
  static bool begin(boost::beast::http::request_header<>& head);

  // `head` as it goes to the host; `credential`: the name of what was added to it.
  HttpDownload(Downloads& downloads, const Connection& connection, const std::string& path,
               const std::string& credential, const boost::beast::http::request_header<>& head,
               bool asks_host);

  // It need not be asked for.
  [[nodiscard]] bool is_fresh() const { return kept_ && !asks_host_ && kept_->is_fresh(); }
  // Returns whether the kept answer will do where the host cannot be asked.
  [[nodiscard]] bool will_do() const { return kept_ && !kept_->head.must_ask; }
  void ask_whether_changed(boost::beast::http::request_header<>& head) const;
  // Takes the host's answer, as it is about to go on. Returns true when it is what is kept, and
  // send() has it.
  bool take_answer(const boost::beast::http::response_header<>& head);
  void add(std::string_view part);
  // All of it has come.
  void finish();

  // Sends what is kept to the client. Returns false when it could not be sent whole.
  Task<bool> send(Connection& connection, bool keeps_connection);
  [[nodiscard]] bool was_sent() const { return was_sent_; }

 private:
  Downloads& downloads_;
  const std::string path_;
  std::string key_;
  const bool asks_host_;
  std::optional<Downloads::Kept> kept_;
  std::unique_ptr<Downloads::Coming> coming_;
  KeptHead head_;  // belongs to coming_
  bool was_sent_ = false;
};

// Returns whether the client wants the host to be asked, whatever is kept.
bool wants_host_asked(const boost::beast::http::request_header<>& head);

}  // namespace sandbox::egress
