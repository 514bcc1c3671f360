// Who may come in, and where the server may listen.
#include "mcp/http/door.h"

#include <gtest/gtest.h>

#include <string>

#include "mcp/http/listener.h"

namespace mcp::http {
namespace {

Request request(std::initializer_list<std::pair<const char*, const char*>> headers) {
  Request result;
  result.method = "POST";
  for (const auto& [name, value] : headers) result.headers.emplace(name, value);
  return result;
}

DoorOptions options() {
  DoorOptions result;
  result.allow_origins = {"https://app.example.org"};
  result.allow_hosts = {"hutch.example.org"};
  result.authenticate = [](std::string_view header) -> std::variant<Principal, auth::Challenge> {
    if (header == "Bearer good") return Principal{"alice", {}};
    return auth::Challenge{401, "Bearer realm=\"hutch\"", "a token is needed"};
  };
  return result;
}

int place(std::initializer_list<std::pair<const char*, const char*>> headers) {
  Response refusal;
  return Door(options()).check_place(request(headers), refusal) ? 0 : refusal.status;
}

TEST(Door, ChecksTheHost) {
  for (const char* host : {"localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:8931", "[::1]",
                           "[::1]:8931", "hutch.example.org", "Hutch.Example.org:443"}) {
    EXPECT_EQ(place({{"Host", host}}), 0) << host;
  }
  for (const char* host : {"3000-session_k2.localhost:1", "80-x.hutch.example.org"}) {
    EXPECT_EQ(place({{"Host", host}}), 0) << host;
  }
  for (const char* host :
       {"evil.example.org", "localhost.evil.org", "x.localhost", "3000.localhost", "-1.localhost",
        "3000-x.evil.org", "1-2.3-4.localhost", "1-2.", "127.0.0.1.evil.org", "localhost:1:2",
        "[::2]", "::1", "127.0.0.2"}) {
    EXPECT_EQ(place({{"Host", host}}), 403) << host;
  }
  EXPECT_EQ(place({}), 403);
  EXPECT_EQ(place({{"Host", "localhost"}, {"Host", "localhost"}}), 403);
}

TEST(Door, TakesOtherNamesWhileItIsInUse) {
  Door door(options());
  const auto place_of = [&door](const char* host) {
    Response refusal;
    return door.check_place(request({{"Host", host}}), refusal) ? 0 : refusal.status;
  };
  EXPECT_EQ(place_of("hutch.example.org"), 0);
  door.change_names({.allow_origins = {}, .allow_hosts = {"new.example.org"}});
  EXPECT_EQ(place_of("hutch.example.org"), 403);
  EXPECT_EQ(place_of("new.example.org"), 0);
  Response refusal;
  EXPECT_TRUE(door.check_place(request({{"Host", "evil.example.org"}}), refusal, true));
  EXPECT_FALSE(door.check_place(
      request({{"Host", "evil.example.org"}, {"Origin", "https://evil.example.org"}}), refusal,
      true));
}

TEST(Door, ChecksTheOrigin) {
  EXPECT_EQ(place({{"Host", "localhost"}, {"Origin", "https://app.example.org"}}), 0);
  EXPECT_EQ(place({{"Host", "localhost:1"}, {"Origin", "http://localhost:1"}}), 0);
  for (const char* origin :
       {"null", "http://evil.example.org", "http://localhost:2", "https://localhost:1", "http://",
        "https://app.example.org:444", "https://app.example.org.evil.org"}) {
    EXPECT_EQ(place({{"Host", "localhost:1"}, {"Origin", origin}}), 403) << origin;
  }
  EXPECT_EQ(place({{"Host", "localhost"},
                   {"Origin", "https://app.example.org"},
                   {"Origin", "http://evil.example.org"}}),
            403);
  // Servers of sessions have origins of their own.
  for (const char* origin : {"http://80-x.localhost:1", "https://80-x.localhost:1"}) {
    EXPECT_EQ(place({{"Host", "80-x.localhost:1"}, {"Origin", origin}}), 0) << origin;
  }
  const auto form = [](const char* host, const char* site) {
    return place({{"Host", host}, {"Origin", "null"}, {"Sec-Fetch-Site", site}});
  };
  EXPECT_EQ(form("80-x.localhost:1", "same-origin"), 0) << "its Referrer-Policy is no-referrer";
  EXPECT_EQ(form("80-x.localhost:1", "same-site"), 403);
  EXPECT_EQ(form("localhost:1", "same-origin"), 403);
  for (const char* origin : {"http://81-x.localhost:1", "http://localhost:1", "null"}) {
    EXPECT_EQ(place({{"Host", "80-x.localhost:1"}, {"Origin", origin}}), 403) << origin;
  }
  // Rebinding: the name of another place that leads here.
  EXPECT_EQ(place({{"Host", "evil.example.org"}, {"Origin", "http://evil.example.org"}}), 403);
  EXPECT_EQ(place({{"Host", "hutch.example.org"}, {"Origin", "http://hutch.example.org"}}), 403);
}

TEST(Door, ALabelBelowAnyNameIsNobodysOrigin) {
  DoorOptions any = options();
  any.any_host = true;
  Response refusal;
  const auto come = request({{"Host", "80-x.evil.org"}, {"Origin", "http://80-x.evil.org"}});
  EXPECT_FALSE(Door(any).check_place(come, refusal));
  EXPECT_TRUE(Door(any).check_place(request({{"Host", "80-x.evil.org"}}), refusal));
}

TEST(Door, ChecksTheToken) {
  const Door door(options());
  Request good = request({{"Authorization", "Bearer good"}});
  EXPECT_FALSE(door.check_token(good));
  EXPECT_EQ(good.principal.id, "alice");
  Request none = request({});
  const auto challenge = door.check_token(none);
  ASSERT_TRUE(challenge);
  EXPECT_EQ(challenge->status, 401);
  const Response refusal = refuse(*challenge);
  ASSERT_EQ(refusal.headers.size(), 1U);
  EXPECT_EQ(refusal.headers[0].first, "WWW-Authenticate");
  Request two = request({{"Authorization", "Bearer good"}, {"Authorization", "Bearer good"}});
  ASSERT_TRUE(door.check_token(two));
  EXPECT_EQ(door.check_token(two)->status, 400);
}

TEST(Address, IsNumericOrAPath) {
  const auto v4 = parse_address("127.0.0.1:8931");
  ASSERT_TRUE(v4.has_value());
  EXPECT_EQ(v4->port, 8931);
  EXPECT_TRUE(v4->is_loopback());
  EXPECT_TRUE(parse_address("127.9.9.9:1")->is_loopback());
  EXPECT_TRUE(parse_address("localhost:1")->is_loopback());
  EXPECT_TRUE(parse_address("[::1]:1")->is_loopback());
  EXPECT_TRUE(parse_address("unix:/run/hutch.sock")->is_loopback());
  EXPECT_FALSE(parse_address("0.0.0.0:1")->is_loopback());
  EXPECT_FALSE(parse_address("[::]:1")->is_loopback());
  EXPECT_FALSE(parse_address("[::ffff:127.0.0.1]:1")->is_loopback());
  EXPECT_FALSE(parse_address("192.168.0.1:1")->is_loopback());
  for (const char* wrong : {"", ":1", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
                            "example.org:1", "127.1:1", "unix:", "unix:x", "[::1", "1:2:3"}) {
    EXPECT_FALSE(parse_address(wrong).has_value()) << wrong;
  }
}

}  // namespace
}  // namespace mcp::http
