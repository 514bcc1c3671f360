#include "sandbox/egress/http_loan.h"

#include <array>
#include <ctime>
#include <utility>

#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include "base/digest.h"
#include "sandbox/egress/http_credential.h"
#include "sandbox/egress/http_signature.h"

namespace sandbox::egress {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t kSignedBodyMost = std::size_t{8} << 20;

}  // namespace

Task<HttpLoan::Found> HttpLoan::find(http::verb method) {
  const auto matching = session_.credentials().of(connection_.host, connection_.port);
  Found found;
  if (matching.empty()) co_return found;
  const Credential credential = *matching.front();
  if (matching.size() > 1) {
    found.reason = "the session has two credentials for this host, " + credential.name + " and " +
                   matching[1]->name + ": none is added";
  } else if (!connection_.client.is_secure() && !credential.allows_plain) {
    found.reason = "the credential " + credential.name + " is added within TLS only: ask for https";
  } else if (method == http::verb::trace) {
    found.reason = "TRACE would bring back the credential";
  }
  if (!found.reason.empty()) co_return found;
  auto value = co_await session_.credentials().value_of(credential.name);
  if (!value.reason.empty()) {
    found.reason = "the credential " + credential.name + " cannot be had: " + value.reason;
    co_return found;
  }
  name_ = credential.name;
  found.value = std::move(value.text);
  found.credential = credential;
  co_return found;
}

Task<std::string> HttpLoan::add(http::request_header<>& out) {
  const Found found = co_await find(out.method());
  if (!found.credential) co_return found.reason;
  if (found.credential->place == Credential::Place::kSigned) {
    co_return "the credential " + name_ + " signs requests of HTTP/1.1 only";
  }
  is_told_ = true;
  redactor_.emplace(add_credential(*found.credential, found.value, out));
  co_return "";
}

Task<std::string> HttpLoan::add(Parser& parser, boost::beast::flat_buffer& buffer, Request& out) {
  const Found found = co_await find(out.method());
  if (!found.credential) co_return found.reason;
  if (found.credential->place == Credential::Place::kSigned) {
    const std::string reason = co_await add_signature(parser, buffer, out, found.value);
    if (reason.empty()) co_return "";
    co_return "the credential " + name_ + " cannot sign this request: " + reason;
  }
  is_told_ = true;
  redactor_.emplace(add_credential(*found.credential, found.value, out));
  co_return "";
}

Task<std::string> HttpLoan::add_signature(Parser& parser, boost::beast::flat_buffer& buffer,
                                          Request& out, const std::string& value) {
  const auto key = signing_key_of(value);
  if (!key) co_return "its value is no id:secret and no id:secret:token";
  const auto scope = signing_scope_of(out, connection_.host);
  if (!scope) co_return "sign it in the code with any key, so that region and service are known";
  auto payload = payload_told_by(out, *scope);
  if (!payload) co_return "its parts are signed one by one: let the client sign it as a whole";
  if (payload->empty()) {
    const std::string reason = co_await read_body(parser, buffer);
    if (!reason.empty()) co_return reason;
    auto digest = base::sha256_hex(*body_);
    if (!digest.ok()) co_return digest.error().message;
    *payload = std::move(digest).value();
    if (out.chunked() || !body_->empty()) {
      out.chunked(false);
      out.content_length(body_->size());
    }
  }
  // An answer that cannot be read cannot be looked through either.
  out.set(http::field::accept_encoding, "identity");
  is_told_ = !key->token.empty();
  auto secrets = sign(*key, *scope, *payload, std::time(nullptr), out);
  if (!secrets.ok()) co_return secrets.error().message;
  redactor_.emplace(std::move(secrets).value());
  co_return "";
}

Task<std::string> HttpLoan::read_body(Parser& parser, boost::beast::flat_buffer& buffer) {
  const std::string whose = session_.take_body_place(place_);
  if (!whose.empty()) co_return "too many requests of " + whose + " are being signed at once";
  body_.emplace();
  std::array<char, kBodyPartBytes> part;
  error_code failure;
  while (!parser.is_done()) {
    parser.get().body().data = part.data();
    parser.get().body().size = part.size();
    co_await http::async_read_some(connection_.client, buffer, parser, into(failure));
    if (failure == http::error::need_buffer) failure.clear();
    if (failure) co_return "its body has not come";
    connection_.saw_bytes();
    body_->append(part.data(), part.size() - parser.get().body().size);
    if (body_->size() > kSignedBodyMost) co_return "its body is longer than 8 MiB";
  }
  co_return "";
}

Task<Forwarded> HttpLoan::send(Request& out) {
  http::request_serializer<http::buffer_body> serializer(out);
  out.body().data = body_->empty() ? nullptr : body_->data();
  out.body().size = body_->size();
  out.body().more = false;
  error_code failure;
  connection_.sent += static_cast<std::int64_t>(
      co_await http::async_write(connection_.upstream, serializer, into(failure)));
  co_return failure ? Forwarded::kReceiverGone : Forwarded::kWhole;
}

}  // namespace sandbox::egress
