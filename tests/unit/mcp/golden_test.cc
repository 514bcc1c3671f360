// Requests and their replies, revision by revision: data/<revision>/<case>.request.json is the text
// of one message, <case>.reply.json what is sent for it: null, one message (an array: one batch),
// or
// {"in_order": [...]} for several. A case of a revision with initialize runs after that, unless its
// name begins with fresh_. Below data/everything the server is one that offers everything, and its
// sealed states, which are never the same, are left out. UPDATE_EXPECT=1 rewrites the replies.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <nlohmann/json.hpp>

#include "mcp/connection.h"
#include "tests/unit/mcp/fake_exchange.h"
#include "tests/unit/mcp/fake_providers.h"

#include "tests/support/source_directory.h"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kData = fs::path(source_directory()) / "tests/unit/mcp/data";
const std::string kRequestEnding = ".request.json";

const std::string kSealed = "(sealed)";

struct Case {
  fs::path folder;  // below kData
  std::string name;

  [[nodiscard]] std::string revision() const { return folder.filename().string(); }
  [[nodiscard]] bool everything() const { return folder.has_parent_path(); }
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto& entry : fs::recursive_directory_iterator(kData)) {
    std::string file = entry.path().filename().string();
    if (!file.ends_with(kRequestEnding)) continue;
    file.resize(file.size() - kRequestEnding.size());
    cases.push_back({fs::relative(entry.path().parent_path(), kData), file});
  }
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) {
    return std::tie(a.folder, a.name) < std::tie(b.folder, b.name);
  });
  return cases;
}

std::string read_file(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  EXPECT_TRUE(stream.good()) << path;
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// As a client would see it: through the text.
json as_sent(const json& message) { return json::parse(mcp::print(message)); }

json replies_to(const mcp::Server& server, const std::string& revision, bool fresh,
                const std::string& text) {
  json sent = json::array();
  const auto send = [&sent](const json& message) {
    json one = as_sent(message);
    if (one.is_object() && one.contains("result") && one["result"].contains("requestState")) {
      one["result"]["requestState"] = kSealed;
    }
    sent.push_back(std::move(one));
  };
  mcp::Connection connection(server, {.id = "connection-1",
                                      .principal = {"golden", {}},
                                      .run =
                                          [](const std::function<void()>& work) {
                                            work();
                                            return true;
                                          },
                                      .unsolicited = send});
  const auto receive = [&](const std::string& message) {
    const auto exchange = std::make_shared<mcp::fake::FakeExchange>(send);
    connection.receive(message, exchange);
    EXPECT_EQ(exchange->ends, 1);
  };
  if (!fresh) {
    const json initialize = {{"jsonrpc", "2.0"},
                             {"id", 0},
                             {"method", "initialize"},
                             {"params",
                              {{"protocolVersion", revision},
                               {"capabilities", json::object()},
                               {"clientInfo", {{"name", "golden"}, {"version", "7"}}}}}};
    receive(initialize.dump());
    EXPECT_EQ(sent.at(0)["result"]["protocolVersion"], revision);
    sent.clear();
  }
  receive(text);
  EXPECT_EQ(connection.open_requests(), 0U);
  if (sent.empty()) return nullptr;
  if (sent.size() == 1) return sent[0];
  return {{"in_order", sent}};
}

class Golden : public testing::TestWithParam<Case> {};

TEST_P(Golden, ReplyIsAsExpected) {
  const auto& name = GetParam().name;
  const std::string revision = GetParam().revision();
  const fs::path folder = kData / GetParam().folder;
  const std::string request = read_file(folder / (name + kRequestEnding));
  const bool fresh = name.starts_with("fresh_") || revision == "2026-07-28";
  const mcp::Server plain = mcp::fake::make_server();
  const mcp::fake::FullServer full;
  const json reply =
      replies_to(GetParam().everything() ? full.server : plain, revision, fresh, request);
  const fs::path expected = folder / (name + ".reply.json");
  if (std::getenv("UPDATE_EXPECT") != nullptr) {  // NOLINT(concurrency-mt-unsafe): no other thread
    std::ofstream(expected) << reply.dump(2) << '\n';
    return;
  }
  EXPECT_EQ(reply.dump(2) + "\n", read_file(expected));
}

std::string test_name(const testing::TestParamInfo<Case>& one) {
  std::string name = one.param.folder.string() + "_" + one.param.name;
  std::replace(name.begin(), name.end(), '/', '_');
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Mcp, Golden, testing::ValuesIn(all_cases()), test_name);

TEST(GoldenData, EveryReplyHasItsRequest) {
  EXPECT_GT(all_cases().size(), 100U);
  for (const auto& entry : fs::recursive_directory_iterator(kData)) {
    std::string file = entry.path().string();
    const std::string ending = ".reply.json";
    if (!file.ends_with(ending)) continue;
    file.resize(file.size() - ending.size());
    EXPECT_TRUE(fs::exists(file + kRequestEnding)) << entry.path();
  }
}

}  // namespace
