// A handful of resources, one of each kind.
#include <string_view>

#include <nlohmann/json.hpp>

#include "tests/conformance/content.h"
#include "tests/conformance/fixtures.h"

namespace conformance {

using nlohmann::json;

namespace {

constexpr std::string_view kTemplateStart = "test://template/";
constexpr std::string_view kTemplateEnd = "/data";

json describe(const std::string& uri, const std::string& name, const std::string& mime_type) {
  return {{"uri", uri}, {"name", name}, {"mimeType", mime_type}};
}

mcp::ResourceContents text_contents(const std::string& uri, const std::string& mime_type,
                                    const std::string& text) {
  mcp::ResourceContents contents;
  contents.contents->push_back({{"uri", uri}, {"mimeType", mime_type}, {"text", text}});
  return contents;
}

class Resources final : public mcp::ResourceProvider {
 public:
  std::optional<mcp::Page> list(const std::string& cursor, mcp::CallContext&) override {
    if (!cursor.empty()) return std::nullopt;
    mcp::Page page;
    page.items = json{describe("test://static-text", "Static text", "text/plain"),
                      describe("test://static-binary", "Static binary", "image/png"),
                      describe("test://watched-resource", "Watched resource", "text/plain")};
    return page;
  }

  json templates() override {
    return json::array({{{"uriTemplate", "test://template/{id}/data"},
                         {"name", "Data by id"},
                         {"description", "Data that names its id"},
                         {"mimeType", "application/json"}}});
  }

  mcp::ReadAnswer read(const std::string& uri, mcp::CallContext&) override {
    if (uri == "test://static-text") {
      return text_contents(uri, "text/plain", "This is the content of the static text resource.");
    }
    if (uri == "test://watched-resource") {
      return text_contents(uri, "text/plain", "This is the content of the watched resource.");
    }
    if (uri == "test://static-binary") {
      mcp::ResourceContents contents;
      contents.contents->push_back({{"uri", uri}, {"mimeType", "image/png"}, {"blob", kPng}});
      return contents;
    }
    if (const std::string id = template_id(uri); !id.empty()) {
      const json data = {{"id", id}, {"templateTest", true}, {"data", "Data for ID: " + id}};
      return text_contents(uri, "application/json", data.dump());
    }
    return mcp::NotFound{};
  }

  [[nodiscard]] bool can_subscribe() const override { return true; }

 private:
  static std::string template_id(std::string_view uri) {
    if (uri.size() <= kTemplateStart.size() + kTemplateEnd.size()) return "";
    if (!uri.starts_with(kTemplateStart) || !uri.ends_with(kTemplateEnd)) return "";
    uri.remove_prefix(kTemplateStart.size());
    uri.remove_suffix(kTemplateEnd.size());
    return uri.find('/') == std::string_view::npos ? std::string(uri) : "";
  }
};

}  // namespace

void add_resources(mcp::Server& server) {
  static Resources resources;
  server.set_resources(resources);
}

}  // namespace conformance
