#include <gtest/gtest.h>

#include <boost/asio/ip/address.hpp>

#include "sandbox/egress/addresses.h"
#include "sandbox/egress/client_hello.h"
#include "sandbox/egress/dns.h"
#include "sandbox/egress/names.h"

namespace {

using namespace sandbox::egress;
using std::string;

string query_for(const string& name, unsigned type, const string& more = "") {
  string bytes("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00", 12);
  std::size_t start = 0;
  while (start < name.size()) {
    const std::size_t end = std::min(name.find('.', start), name.size());
    bytes += static_cast<char>(end - start) + name.substr(start, end - start);
    start = end + 1;
  }
  bytes += '\0';
  bytes += {static_cast<char>(type >> 8), static_cast<char>(type & 0xFF), 0, 1};
  return bytes + more;
}

unsigned code_of(const string& reply) { return static_cast<unsigned char>(reply[3]) & 15U; }
unsigned answers_in(const string& reply) { return static_cast<unsigned char>(reply[7]); }

const auto kAllow = [](const string& name) {
  return name == "a.example" ? Lookup{Lookup::Verdict::kAllowed, 0xC6120001} : Lookup{};
};

TEST(EgressDns, AllowedNamesHaveAnAddressAndNothingElse) {
  const string query = query_for("a.example", 1);
  const auto reply = answer_query(query, kAllow);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->substr(0, 2), "\x12\x34");
  EXPECT_EQ(code_of(*reply), 0U);
  EXPECT_EQ(answers_in(*reply), 1U);
  EXPECT_EQ(reply->substr(12, query.size() - 12), query.substr(12));
  EXPECT_EQ(reply->substr(reply->size() - 4), string("\xC6\x12\x00\x01", 4));
  for (const unsigned type : {28U, 65U, 64U, 16U, 15U, 33U, 255U, 12U}) {
    const auto other = answer_query(query_for("a.example", type), kAllow);
    ASSERT_TRUE(other);
    EXPECT_EQ(code_of(*other), 0U) << type;
    EXPECT_EQ(answers_in(*other), 0U) << type;
  }
}

TEST(EgressDns, OthersDoNotExist) {
  const auto reply = answer_query(query_for("b.example", 1), kAllow);
  ASSERT_TRUE(reply);
  EXPECT_EQ(code_of(*reply), 3U);
  EXPECT_EQ(answers_in(*reply), 0U);
}

TEST(EgressDns, WhatIsNoQueryIsNotLookedUp) {
  int looked_up = 0;
  const auto count = [&looked_up](const string&) {
    ++looked_up;
    return Lookup{};
  };
  const string query = query_for("a.example", 1);
  for (std::size_t size = 0; size < query.size(); ++size) {
    const auto reply = answer_query(query.substr(0, size), count);
    EXPECT_TRUE(!reply || code_of(*reply) == 1U) << size;
  }
  string response = query;
  response[2] = static_cast<char>(0x81);
  EXPECT_FALSE(answer_query(response, count));
  string update = query;
  update[2] = 0x28;
  EXPECT_EQ(code_of(answer_query(update, count).value()), 4U);
  string two = query;
  two[5] = 2;
  EXPECT_EQ(code_of(answer_query(two + query.substr(12), count).value()), 1U);
  string loop = query.substr(0, 12) + string("\xC0\x0C\x00\x01\x00\x01", 6);
  (void)answer_query(loop, count);
  EXPECT_EQ(looked_up, 0);
}

TEST(EgressNames, EachHasAnAddressOfItsOwn) {
  Names names;
  const auto a = names.address_of("a.example");
  const auto b = names.address_of("b.example");
  ASSERT_TRUE(a && b);
  EXPECT_NE(*a, *b);
  EXPECT_EQ(names.address_of("a.example"), a);
  EXPECT_EQ(names.name_of(*a), "a.example");
  EXPECT_TRUE(is_given_address(*b));
  for (const std::uint32_t other : {0x7F000001U, 0xC6120000U, 0xC6130000U, *b + 1}) {
    EXPECT_FALSE(names.name_of(other));
  }
  for (std::size_t i = 2; i < Names::kMax; ++i) names.address_of(std::to_string(i) + ".example");
  EXPECT_FALSE(names.address_of("one.more"));
  EXPECT_EQ(names.address_of("a.example"), a);
}

TEST(EgressAddresses, OwnOnesAreKnownWhateverTheyAre) {
  const auto is_own_text = [](const char* text) {
    return is_own(boost::asio::ip::make_address(text));
  };
  EXPECT_TRUE(is_own_text("127.0.0.1"));
  EXPECT_FALSE(is_own_text("8.8.8.8"));
}

TEST(EgressAddresses, PublicOnesAreReached) {
  const auto is_public_text = [](const char* text) {
    return is_public(boost::asio::ip::make_address(text));
  };
  for (const char* text :
       {"1.1.1.1", "93.184.216.34", "172.15.255.255", "172.32.0.1", "100.63.0.1", "100.128.0.1",
        "198.17.0.1", "198.20.0.1", "223.255.255.255", "2606:2800:220:1::1", "2a00:1450::1",
        "64:ff9b::101:101", "2002:101:101::"}) {
    EXPECT_TRUE(is_public_text(text)) << text;
  }
  for (const char* text : {"0.0.0.0",
                           "0.1.2.3",
                           "10.0.0.1",
                           "100.64.0.1",
                           "127.0.0.1",
                           "127.255.0.1",
                           "168.63.129.16",
                           "169.254.169.254",
                           "172.16.0.1",
                           "172.31.255.255",
                           "192.0.0.192",
                           "192.168.1.1",
                           "198.18.0.1",
                           "198.19.255.255",
                           "224.0.0.1",
                           "240.0.0.1",
                           "255.255.255.255",
                           "::",
                           "::1",
                           "::ffff:127.0.0.1",
                           "::ffff:8.8.8.8",
                           "::127.0.0.1",
                           "fc00::1",
                           "fd00:ec2::254",
                           "fe80::1",
                           "fec0::1",
                           "ff02::1",
                           "64:ff9b::a9fe:a9fe",
                           "64:ff9b:1::1",
                           "2002:7f00:1::",
                           "2001::1",
                           "100::1"}) {
    EXPECT_FALSE(is_public_text(text)) << text;
  }
}

// A ClientHello of TLS 1.2 with these extensions.
string hello_with(const string& extensions) {
  const auto with_length = [](const string& bytes, int size_bytes) {
    string length;
    for (int i = size_bytes - 1; i >= 0; --i) length += static_cast<char>(bytes.size() >> (8 * i));
    return length + bytes;
  };
  const string body = string("\x03\x03", 2) + string(32, 'r') + with_length("", 1) +
                      with_length(string("\xC0\x2F", 2), 2) + with_length(string(1, '\0'), 1) +
                      with_length(extensions, 2);
  return string("\x16\x03\x01", 3) + with_length(string(1, '\x01') + with_length(body, 3), 2);
}

string extension(unsigned type, const string& bytes) {
  const auto put16 = [](std::size_t n) {
    return string{static_cast<char>(n >> 8), static_cast<char>(n & 0xFF)};
  };
  return put16(type) + put16(bytes.size()) + bytes;
}

string server_name(const string& name) {
  const auto put16 = [](std::size_t n) {
    return string{static_cast<char>(n >> 8), static_cast<char>(n & 0xFF)};
  };
  return extension(0, put16(name.size() + 3) + string(1, '\0') + put16(name.size()) + name);
}

TEST(EgressClientHello, TellsTheServersName) {
  const string bytes = hello_with(server_name("a.example"));
  ClientHello whole;
  EXPECT_EQ(whole.feed(bytes), ClientHello::State::kWhole);
  EXPECT_EQ(whole.server_name(), "a.example");
  EXPECT_FALSE(whole.has_hidden_name());
  ClientHello parts;
  for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
    ASSERT_EQ(parts.feed(bytes.substr(i, 1)), ClientHello::State::kIncomplete) << i;
  }
  EXPECT_EQ(parts.feed(bytes.substr(bytes.size() - 1)), ClientHello::State::kWhole);
  EXPECT_EQ(parts.server_name(), "a.example");
}

TEST(EgressClientHello, TellsOfNoNameAndOfAHiddenOne) {
  ClientHello none;
  EXPECT_EQ(none.feed(hello_with("")), ClientHello::State::kWhole);
  EXPECT_EQ(none.server_name(), "");
  ClientHello hidden;
  EXPECT_EQ(hidden.feed(hello_with(server_name("a.example") + extension(0xFE0D, "secret"))),
            ClientHello::State::kWhole);
  EXPECT_TRUE(hidden.has_hidden_name());
  ClientHello no_tls;
  EXPECT_EQ(no_tls.feed("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"), ClientHello::State::kNone);
}

}  // namespace
