#include "sandbox/egress/http2_head.h"

#include <boost/beast/core/string.hpp>

#include "base/percent_encoding.h"
#include "base/text.h"

namespace sandbox::egress {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

template <bool kIsRequest>
void add_fields(const http::header<kIsRequest, http::fields>& head, Http2Fields& fields) {
  for (const auto& field : head) {
    if (kIsRequest && field.name() == http::field::host) continue;  // it is the authority
    const auto name = field.name_string();
    const auto value = field.value();
    fields.emplace_back(base::lower({name.data(), name.size()}),
                        std::string(value.data(), value.size()));
  }
}

// https://grpc.github.io/grpc/core/md_doc_statuscodes.html
std::string_view grpc_status(unsigned status) {
  if (status == 403) return "7";   // PERMISSION_DENIED
  if (status == 502) return "14";  // UNAVAILABLE
  return "13";                     // INTERNAL
}

}  // namespace

std::optional<http::request_header<>> request_in(const Http2Fields& fields) {
  http::request_header<> head;
  head.version(11);
  std::string authority;
  std::string host;
  std::string scheme;
  for (const auto& [name, value] : fields) {
    if (name == ":method") {
      head.method_string(value);
    } else if (name == ":path") {
      head.target(value);
    } else if (name == ":scheme") {
      scheme = value;
    } else if (name == ":authority") {
      authority = value;
    } else if (name == "host") {
      if (!host.empty()) return std::nullopt;
      host = value;
    } else if (name.starts_with(":")) {
      return std::nullopt;
    } else if (name != "proxy-authorization") {
      head.insert(name, value);
    }
  }
  if (authority.empty()) authority = host;
  if (scheme != "https" || head.target().empty() || head.method() == http::verb::connect ||
      (!host.empty() && host != authority)) {
    return std::nullopt;
  }
  head.set(http::field::host, authority);
  return head;
}

Http2Fields fields_of(const http::request_header<>& head) {
  const auto text = [](beast::string_view part) { return std::string(part.data(), part.size()); };
  Http2Fields fields{{":method", text(head.method_string())},
                     {":scheme", "https"},
                     {":authority", text(head[http::field::host])},
                     {":path", text(head.target())}};
  add_fields(head, fields);
  return fields;
}

std::int64_t size_of(const Http2Fields& fields) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : fields) bytes += name.size() + value.size();
  return static_cast<std::int64_t>(bytes);
}

unsigned status_in(const Http2Fields& fields) {
  if (fields.empty() || fields.front().first != ":status") return 0;
  return base::number_of<unsigned>(fields.front().second).value_or(0);
}

http::response_header<> answer_in(const Http2Fields& fields) {
  http::response_header<> head;
  head.result(status_in(fields));
  for (const auto& [name, value] : fields) {
    if (!name.starts_with(":")) head.insert(name, value);
  }
  return head;
}

Http2Fields fields_of(const http::response_header<>& head) {
  Http2Fields fields{{":status", std::to_string(head.result_int())}};
  add_fields(head, fields);
  return fields;
}

bool is_grpc(const http::request_header<>& head) {
  constexpr std::string_view kGrpc = "application/grpc";
  return beast::iequals(head[http::field::content_type].substr(0, kGrpc.size()),
                        {kGrpc.data(), kGrpc.size()});
}

Http2Fields own_answer(bool is_grpc, unsigned status, std::string_view reason, std::string& body) {
  if (is_grpc) {
    return {{":status", "200"},
            {"content-type", "application/grpc"},
            {"grpc-status", std::string(grpc_status(status))},
            {"grpc-message", base::percent_encoded(reason)}};
  }
  body = std::string(reason) + "\n";
  return {{":status", std::to_string(status)},
          {"content-type", "text/plain"},
          {"content-length", std::to_string(body.size())}};
}

}  // namespace sandbox::egress
