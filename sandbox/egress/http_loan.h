// The credential of one request: added to it, and kept out of what the host answers.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>

#include "sandbox/egress/asio.h"
#include "sandbox/egress/connection.h"
#include "sandbox/egress/http_forward.h"
#include "sandbox/egress/redactor.h"
#include "sandbox/egress/session.h"

namespace sandbox::egress {

class HttpLoan {
 public:
  using Request = boost::beast::http::request<boost::beast::http::buffer_body>;
  using Parser = boost::beast::http::request_parser<boost::beast::http::buffer_body>;

  // `connection` has the request's host and port.
  HttpLoan(Session& session, Connection& connection) : session_(session), connection_(connection) {}

  // Adds the credential of the host to `out`, if there is one, and returns why it cannot; empty:
  // nothing is wrong. A body that is signed has to be read first: it comes from `parser` then, and
  // send() has it.
  Task<std::string> add(Parser& parser, boost::beast::flat_buffer& buffer, Request& out);
  // Adds the credential to a request whose body is not read before it is sent. Such a request
  // cannot be signed: for a credential that signs, returns that as the reason.
  Task<std::string> add(boost::beast::http::request_header<>& out);
  Task<Forwarded> send(Request& out);
  [[nodiscard]] bool has_body() const { return body_.has_value(); }
  // Returns its name; empty when there is none.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Redactor* redactor() const { return redactor_ ? &*redactor_ : nullptr; }
  // The host was given a secret itself, not only what was made with it for this request.
  [[nodiscard]] bool is_told() const { return is_told_; }

 private:
  struct Found {
    std::optional<Credential> credential;
    std::string value;
    std::string reason;  // why there is none
  };
  Task<Found> find(boost::beast::http::verb method);
  Task<std::string> add_signature(Parser& parser, boost::beast::flat_buffer& buffer, Request& out,
                                  const std::string& value);
  Task<std::string> read_body(Parser& parser, boost::beast::flat_buffer& buffer);

  Session& session_;
  Connection& connection_;
  std::string name_;
  std::optional<Redactor> redactor_;
  bool is_told_ = false;
  std::optional<std::string> body_;
  std::shared_ptr<void> place_;  // the body's, among all that are held
};

}  // namespace sandbox::egress
