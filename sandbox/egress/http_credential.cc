#include "sandbox/egress/http_credential.h"

#include <iterator>
#include <string_view>

#include "base/base64.h"
#include "base/percent_encoding.h"
#include "sandbox/egress/http_override.h"

namespace sandbox::egress {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

std::string with_parameter(std::string_view target, const std::string& name,
                           const std::string& value) {
  const std::size_t mark = std::min(target.find('?'), target.size());
  std::string changed(target.substr(0, mark));
  char before = '?';
  std::string_view rest = mark == target.size() ? "" : target.substr(mark + 1);
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    if (one.empty() || base::percent_decoded(one.substr(0, one.find('='))) == name) continue;
    changed += before;
    changed += one;
    before = '&';
  }
  return changed + before + name + "=" + value;
}

void erase_field(std::string_view name, http::request_header<>& head) {
  const std::string wanted = folded_name(name);
  for (auto field = head.begin(); field != head.end();) {
    const auto present = field->name_string();
    const bool is_it = folded_name({present.data(), present.size()}) == wanted;
    field = is_it ? head.erase(field) : std::next(field);
  }
}

}  // namespace

std::vector<std::string> add_credential(const Credential& credential, const std::string& value,
                                        http::request_header<>& head) {
  // An answer that cannot be read cannot be looked through either, nor one that comes in pieces.
  head.set(http::field::accept_encoding, "identity");
  head.erase(http::field::range);
  head.erase(http::field::if_range);
  switch (credential.place) {
    case Credential::Place::kBearer:
      head.erase(http::field::authorization);
      head.set(http::field::authorization, "Bearer " + value);
      return {value};
    case Credential::Place::kBasic: {
      const std::string encoded = base::to_base64(value);
      const std::string password = value.substr(value.find(':') + 1);
      head.erase(http::field::authorization);
      head.set(http::field::authorization, "Basic " + encoded);
      return {value, encoded, password};
    }
    case Credential::Place::kHeader:
      erase_field(credential.field, head);
      head.set(credential.field, value);
      return {value};
    case Credential::Place::kQuery: {
      const std::string encoded = base::percent_encoded(value);
      const auto target = head.target();
      head.target(with_parameter({target.data(), target.size()}, credential.field, encoded));
      return {value, encoded};
    }
    case Credential::Place::kSigned:
      break;  // by sign(), which knows the body
  }
  return {};
}

bool is_unreadable(const http::response_header<>& head) {
  const auto is_plain = [&head](beast::string_view name) {
    const auto value = head[name];
    return value.empty() || beast::iequals(value, "identity");
  };
  return !is_plain("content-encoding") || !is_plain("grpc-encoding") ||
         head.result() == http::status::partial_content;
}

void redact_head(const Redactor& redactor, http::response_header<>& head) {
  const auto redacted = [&redactor](const auto& text) {
    return redactor.redacted({text.data(), text.size()});
  };
  head.reason(redacted(head.reason()));
  std::vector<std::pair<std::string, std::string>> fields;
  bool is_changed = false;
  for (const auto& field : head) {
    fields.emplace_back(redacted(field.name_string()), redacted(field.value()));
    is_changed = is_changed || fields.back().first != field.name_string() ||
                 fields.back().second != field.value();
  }
  if (!is_changed) return;
  head.clear();
  for (const auto& [name, value] : fields) head.insert(name, value);
}

}  // namespace sandbox::egress
