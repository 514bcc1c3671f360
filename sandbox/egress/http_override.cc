#include "sandbox/egress/http_override.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "base/text.h"

namespace sandbox::egress {
namespace {

constexpr std::string_view kOverrides[] = {"x-http-method-override", "x-http-method",
                                           "x-method-override", "x-original-url", "x-rewrite-url"};

bool is_override(std::string_view name) {
  return std::find(std::begin(kOverrides), std::end(kOverrides), folded_name(name)) !=
         std::end(kOverrides);
}

}  // namespace

std::string folded_name(std::string_view name) {
  std::string letters = base::lower(name);
  std::replace(letters.begin(), letters.end(), '_', '-');
  return letters;
}

void drop_overrides(boost::beast::http::request_header<>& head) {
  for (auto field = head.begin(); field != head.end();) {
    const auto name = field->name_string();
    field = is_override({name.data(), name.size()}) ? head.erase(field) : std::next(field);
  }
}

void drop_overrides(Http2Fields& trailers) {
  std::erase_if(trailers, [](const auto& field) { return is_override(field.first); });
}

}  // namespace sandbox::egress
