// When the end of an HTTP session is told.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "mcp/http/legacy_sessions.h"
#include "tests/unit/mcp/fake_exchange.h"
#include "tests/unit/mcp/fake_tools.h"

namespace {

using nlohmann::json;
using Ids = std::vector<std::string>;

TEST(LegacySession, ItsEndIsToldAtOnceAndWhenItsLastWorkIsDone) {
  const mcp::Server server = mcp::fake::make_server();
  std::vector<std::function<void()>> work;
  Ids told;
  const auto ended = [&told](const std::string& id) { told.push_back(id); };
  mcp::http::LegacySessions table({}, ended);
  const auto exchange = std::make_shared<mcp::fake::FakeExchange>([](const json&) {});
  {
    const auto session = std::make_shared<mcp::http::LegacySession>();
    session->id = "secret";
    session->connection_id = "c";
    session->principal = {"somebody", {}};
    session->log = std::make_shared<mcp::http::EventLog>(mcp::http::EventLog::Limits{});
    mcp::Connection::Options options;
    options.id = "c";
    options.principal = session->principal;
    session->connection = mcp::http::make_connection(
        server, std::move(options),
        [&work](const std::string&, std::function<void()> one) {
          work.push_back(std::move(one));
          return true;
        },
        ended);
    ASSERT_TRUE(table.add(session));
    const auto send = [&](const json& message) {
      session->connection->receive(message.dump(), exchange);
    };
    send({{"jsonrpc", "2.0"},
          {"id", 1},
          {"method", "initialize"},
          {"params", {{"protocolVersion", "2025-11-25"}}}});
    send({{"jsonrpc", "2.0"},
          {"id", 2},
          {"method", "tools/call"},
          {"params", {{"name", "echo"}, {"arguments", json::object()}}}});
  }
  ASSERT_EQ(work.size(), 1U);
  EXPECT_EQ(told, Ids{});
  table.remove("secret");
  EXPECT_EQ(told, Ids{"c"});
  work.front()();
  EXPECT_EQ(told, Ids{"c"}) << "what the work holds may still be used";
  work.clear();
  EXPECT_EQ(told, (Ids{"c", "c"}));
}

TEST(LegacySession, WhoComesLaterAlwaysFindsOne) {
  const mcp::Server server = mcp::fake::make_server();
  mcp::http::LegacySessions table({.sessions = 8}, nullptr);
  const auto begins = [&](const std::string& principal, int number) {
    const auto session = std::make_shared<mcp::http::LegacySession>();
    session->id = principal + std::to_string(number);
    session->principal = {principal, {}};
    session->log = std::make_shared<mcp::http::EventLog>(mcp::http::EventLog::Limits{});
    session->connection = mcp::http::make_connection(
        server, {}, [](const std::string&, const std::function<void()>&) { return true; }, nullptr);
    return table.add(session);
  };
  const auto begin_many = [&begins](const std::string& principal) {
    int begun = 0;
    while (begins(principal, begun)) ++begun;
    return begun;
  };
  EXPECT_EQ(begin_many("one"), 4);
  EXPECT_EQ(begin_many("two"), 2);
  EXPECT_EQ(begin_many("three"), 1);
  EXPECT_EQ(begin_many("four"), 1);
  table.remove("one0");
  EXPECT_FALSE(begins("one", 4)) << "the others have nearly all of them";
  EXPECT_TRUE(begins("five", 0));
}

}  // namespace
