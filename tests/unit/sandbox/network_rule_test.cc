#include "sandbox/network_rule.h"

#include <gtest/gtest.h>

namespace {

using namespace sandbox;

NetworkRule rule(const std::string& text) { return parse_network_rule(text).value(); }

TEST(NetworkRule, HostsHaveOneSpelling) {
  EXPECT_EQ(canonical_host("API.Example.com.").value(), "api.example.com");
  EXPECT_EQ(canonical_host("xn--bcher-kva.example").value(), "xn--bcher-kva.example");
  EXPECT_EQ(canonical_host("a_b.example").value(), "a_b.example");
  for (const std::string& wrong :
       {std::string(), std::string("."), std::string("a..b"), std::string(".a"), std::string("a.."),
        std::string("-a.b"), std::string("a-.b"), std::string("a b"), std::string("a%62.c"),
        std::string("a\0.b", 4),
        std::string("b\xC3\xBC"
                    "cher.example"),
        std::string("\xEF\xBD\x81.example"),
        std::string("a\xE3\x80\x82"
                    "b"),
        std::string(64, 'a') + ".b", std::string("a/b"), std::string("user@a.b"),
        std::string("a.b\n"), std::string("*.a.b")}) {
    EXPECT_FALSE(canonical_host(wrong).ok()) << wrong;
  }
  std::string longest;
  for (int i = 0; i < 126; ++i) longest += "a.";
  EXPECT_TRUE(canonical_host(longest + "b").ok());
  EXPECT_FALSE(canonical_host(longest + "bc").ok());
}

TEST(NetworkRule, AddressesAreNoHosts) {
  for (const char* address :
       {"127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0x7f.1", "1.2.3.4.",
        "example.0x10", "a.1", "::1", "[::1]", "fe80::1%1", "::ffff:127.0.0.1"}) {
    EXPECT_FALSE(canonical_host(address).ok()) << address;
    EXPECT_FALSE(parse_network_rule(address).ok()) << address;
  }
  EXPECT_TRUE(canonical_host("1.2.3.4.example").ok());
}

TEST(NetworkRule, AreWrittenAsTheyAreRead) {
  for (const char* text : {"api.example.com", "*.example.com", "db.example.com:5432",
                           "*.example.com:8443", "localhost:80"}) {
    EXPECT_EQ(text_of(rule(text)), text);
  }
  for (const char* wrong : {"", "*", "*.com", "*.", "a.*.com", "a.b:", "a.b:0", "a.b:65536",
                            "a.b:+1", "a.b:80x", "https://a.b", "a.b:80:80", "*.*.example.com"}) {
    EXPECT_FALSE(parse_network_rule(wrong).ok()) << wrong;
  }
}

TEST(NetworkRule, AllowsExactlyWhatItNames) {
  EXPECT_TRUE(allows(rule("a.example"), "a.example", 80));
  EXPECT_TRUE(allows(rule("a.example"), "a.example", 443));
  EXPECT_FALSE(allows(rule("a.example"), "a.example", 8443));
  EXPECT_FALSE(allows(rule("a.example"), "b.a.example", 443));
  EXPECT_FALSE(allows(rule("a.example:443"), "a.example", 80));
  EXPECT_TRUE(allows(rule("*.a.example"), "b.a.example", 443));
  EXPECT_TRUE(allows(rule("*.a.example"), "c.b.a.example", 443));
  EXPECT_FALSE(allows(rule("*.a.example"), "a.example", 443));
  EXPECT_FALSE(allows(rule("*.a.example"), "evila.example", 443));
  EXPECT_FALSE(allows(rule("*.a.example"), ".a.example", 443));
  EXPECT_TRUE(allows_host({rule("a.example:22")}, "a.example"));
  EXPECT_FALSE(allows(std::vector<NetworkRule>(), "a.example", 443));
}

TEST(NetworkRule, IsWithinWhatAllowsAsMuch) {
  const std::vector<NetworkRule> most = {rule("a.example"), rule("*.b.example:443"),
                                         rule("*.c.example")};
  for (const char* within : {"a.example", "a.example:80", "x.b.example:443", "*.x.b.example:443",
                             "*.b.example:443", "*.c.example", "y.c.example:80"}) {
    EXPECT_TRUE(is_within(rule(within), most)) << within;
  }
  for (const char* beyond : {"a.example:22", "*.a.example", "b.example:443", "x.b.example",
                             "x.b.example:80", "c.example", "d.example"}) {
    EXPECT_FALSE(is_within(rule(beyond), most)) << beyond;
  }
}

TEST(NetworkRule, ASessionHasABoundedNumber) {
  std::vector<NetworkRule> rules;
  for (std::size_t i = 0; i < kNetworkRulesMax; ++i) {
    rules.push_back(rule("h" + std::to_string(i) + ".example"));
  }
  EXPECT_TRUE(check_network_rules(rules).ok());
  rules.push_back(rule("one.more"));
  EXPECT_EQ(check_network_rules(rules).error().kind, base::Error::Kind::kLimit);
  rules.clear();
  for (int port = 1; port < 16; ++port) rules.push_back(rule("a.b:" + std::to_string(port)));
  rules.push_back(rule("a.b"));
  EXPECT_TRUE(check_network_rules(rules).ok());
  rules.push_back(rule("a.b:16"));
  EXPECT_FALSE(check_network_rules(rules).ok());
}

TEST(NetworkRule, RequestsAreLimitedByMethodsAndPaths) {
  EXPECT_EQ(text_of(rule("POST,GET,GET a.example:8443/v1/*")), "GET,POST a.example:8443/v1/*");
  EXPECT_EQ(text_of(rule("a.example/*")), "a.example");
  for (const char* wrong :
       {"get a.example", "GET,, a.example", " a.example", "GET  a.example", "a.example/a*b",
        "a.example/../b", "a.example/a//b", "a.example/%61", "a.example/a?b", "a.example/a b"}) {
    EXPECT_FALSE(parse_network_rule(wrong).ok()) << wrong;
  }
  const std::vector<NetworkRule> rules = {rule("GET a.example/v1/*"), rule("POST a.example/v1/x")};
  const auto allowed = [&](const char* method, const char* path) {
    return allows_request(rules, "a.example", 443, method, path);
  };
  EXPECT_TRUE(allowed("GET", "/v1/y?a=../b"));
  EXPECT_TRUE(allowed("POST", "/v1/x?y"));
  for (const char* path : {"/v1", "/v2/", "/v1/../v2", "/v1/./x", "/v1/%2e%2e/v2", "/v1//x",
                           "/v1/..;/v2", "/v1\\..\\v2", "v1/x", "*", ""}) {
    EXPECT_FALSE(allowed("GET", path)) << path;
  }
  EXPECT_FALSE(allowed("POST", "/v1/y"));
  EXPECT_FALSE(allowed("get", "/v1/y"));
  EXPECT_TRUE(limits_requests(rules, "a.example", 443));
  EXPECT_FALSE(
      limits_requests({rules[0], rule("*.b.example"), rule("a.example:443")}, "a.example", 443));
}

TEST(NetworkRule, OverlapsWhereBothAreAboutAHostAndItsPort) {
  const auto overlaps = [](const char* one, const char* other) {
    EXPECT_EQ(overlap(rule(one), rule(other)), overlap(rule(other), rule(one)));
    return overlap(rule(one), rule(other));
  };
  EXPECT_TRUE(overlaps("a.example", "GET a.example/v1/*"));
  EXPECT_TRUE(overlaps("a.example", "a.example:443"));
  EXPECT_TRUE(overlaps("*.example.com", "GET a.example.com:80"));
  EXPECT_TRUE(overlaps("*.example.com", "*.a.example.com"));
  EXPECT_FALSE(overlaps("a.example", "a.example:8443"));
  EXPECT_FALSE(overlaps("a.example:8443", "a.example:443"));
  EXPECT_FALSE(overlaps("a.example", "b.example"));
  EXPECT_FALSE(overlaps("*.example.com", "example.com"));
}

TEST(NetworkRule, LimitedOnesAreWithinWiderOnes) {
  EXPECT_TRUE(is_within(rule("GET a.example/v1/x"), {rule("a.example")}));
  EXPECT_TRUE(is_within(rule("GET a.example/v1/x"), {rule("GET,POST a.example/v1/*")}));
  EXPECT_TRUE(is_within(rule("a.example/v1/*"), {rule("a.example/v1/*")}));
  EXPECT_FALSE(is_within(rule("a.example"), {rule("GET a.example")}));
  EXPECT_FALSE(is_within(rule("a.example"), {rule("a.example/v1/*")}));
  EXPECT_FALSE(is_within(rule("PUT a.example/v1/x"), {rule("GET a.example/v1/x")}));
  EXPECT_FALSE(is_within(rule("a.example/v2"), {rule("a.example/v1/*")}));
}

}  // namespace
