// Tests what goes on of an HTTP message, what credentials make of it, and what answers must not
// bring back.
#include <gtest/gtest.h>

#include "sandbox/egress/http2_head.h"
#include "sandbox/egress/http_credential.h"
#include "sandbox/egress/http_head.h"
#include "sandbox/egress/http_override.h"
#include "sandbox/egress/redactor.h"

namespace {

using namespace sandbox;
using namespace sandbox::egress;
namespace http = boost::beast::http;
using Head = http::request_header<>;

Head head_with(std::initializer_list<std::pair<const char*, const char*>> fields) {
  Head head;
  head.version(11);
  head.method(http::verb::post);
  head.target("/path?key=mine&a=b");
  for (const auto& [name, value] : fields) head.insert(name, value);
  return head;
}

TEST(EgressHttpHead, EndsWhereItSaysOnceAndInOneWay) {
  const auto framing = [](auto... fields) { return framing_of<true>(head_with({fields...})); };
  using Field = std::pair<const char*, const char*>;
  EXPECT_TRUE(framing().has_value());
  EXPECT_EQ(framing(Field("Content-Length", "12"))->length, 12U);
  EXPECT_TRUE(framing(Field("Transfer-Encoding", "Chunked"))->chunked);
  for (const char* length : {"+1", "-1", "1, 1", "0x1", "1 2", "", "99999999999999999999999"}) {
    EXPECT_FALSE(framing(Field("Content-Length", length))) << length;
  }
  for (const char* coding : {"identity", "gzip, chunked", "chunked, chunked", "xchunked", ""}) {
    EXPECT_FALSE(framing(Field("Transfer-Encoding", coding))) << coding;
  }
  EXPECT_FALSE(framing(Field("Content-Length", "1"), Field("Content-Length", "1")));
  EXPECT_FALSE(framing(Field("Content-Length", "1"), Field("Transfer-Encoding", "chunked")));
  Head old = head_with({{"Transfer-Encoding", "chunked"}});
  old.version(10);
  EXPECT_FALSE(framing_of<true>(old));
}

TEST(EgressHttpHead, WhatIsOfOneConnectionStaysThere) {
  Head head = head_with({{"Connection", "close, X-Mine, Host"},
                         {"X-Mine", "1"},
                         {"Host", "a.example"},
                         {"TE", "trailers"},
                         {"Proxy-Authorization", "Basic x"},
                         {"Content-Length", "3"},
                         {"Accept", "*/*"}});
  drop_hop_by_hop<true>(head);
  EXPECT_EQ(std::distance(head.begin(), head.end()), 2);
  EXPECT_EQ(head[http::field::host], "a.example");
  EXPECT_EQ(head[http::field::accept], "*/*");
}

TEST(EgressHttpHead, AsksForNoOtherMethodOrPathThanItsLine) {
  Head head = head_with({{"X-HTTP-Method-Override", "DELETE"},
                         {"x_http_method", "PUT"},
                         {"X-Method-Override", "PATCH"},
                         {"X-Original-URL", "/admin"},
                         {"X-Original_Url", "/admin"},
                         {"X-REWRITE-URL", "/admin"},
                         {"X-Original-Urls", "kept"},
                         {"Accept", "*/*"}});
  drop_overrides(head);
  EXPECT_EQ(std::distance(head.begin(), head.end()), 2);
  EXPECT_EQ(head["X-Original-Urls"], "kept");

  auto second = request_in({{":method", "POST"},
                            {":scheme", "https"},
                            {":authority", "a.example"},
                            {":path", "/v1/items"},
                            {"x-http-method-override", "DELETE"},
                            {"x-rewrite-url", "/admin"},
                            {"x-mine", "1"}});
  ASSERT_TRUE(second);
  drop_overrides(*second);
  EXPECT_EQ(fields_of(*second), (Http2Fields{{":method", "POST"},
                                             {":scheme", "https"},
                                             {":authority", "a.example"},
                                             {":path", "/v1/items"},
                                             {"x-mine", "1"}}));
  Http2Fields trailers = {{"x-original-url", "/admin"}, {"x-checksum", "1"}};
  drop_overrides(trailers);
  EXPECT_EQ(trailers, (Http2Fields{{"x-checksum", "1"}}));
}

TEST(EgressCredential, TakesThePlaceOfWhatTheCodeHasSent) {
  Credential credential;
  Head head = head_with({{"Authorization", "a"}, {"authorization", "b"}});
  EXPECT_EQ(add_credential(credential, "secret", head), std::vector<std::string>{"secret"});
  EXPECT_EQ(head.count(http::field::authorization), 1U);
  EXPECT_EQ(head[http::field::authorization], "Bearer secret");
  EXPECT_EQ(head[http::field::accept_encoding], "identity");

  credential.place = Credential::Place::kBasic;
  EXPECT_EQ(add_credential(credential, "user:pass", head),
            (std::vector<std::string>{"user:pass", "dXNlcjpwYXNz", "pass"}));
  EXPECT_EQ(head[http::field::authorization], "Basic dXNlcjpwYXNz");

  ASSERT_TRUE(take_place("query:key", credential).ok());
  EXPECT_EQ(add_credential(credential, "a/b", head).back(), "a%2Fb");
  EXPECT_EQ(head.target(), "/path?a=b&key=a%2Fb");
  head.target("/");
  (void)add_credential(credential, "v", head);
  EXPECT_EQ(head.target(), "/?key=v");
}

TEST(EgressCredential, AlsoWhatAHostMayTakeForTheSame) {
  Credential credential;
  ASSERT_TRUE(take_place("query:key", credential).ok());
  Head head;
  head.target("/?k%65y=3&%6b%65%79=4&keys=5&a=key");
  (void)add_credential(credential, "v", head);
  EXPECT_EQ(head.target(), "/?keys=5&a=key&key=v");

  ASSERT_TRUE(take_place("header:X-Api-Key", credential).ok());
  head = head_with({{"x_api_KEY", "mine"}, {"X-Api_Key", "mine"}, {"X-Api-Keys", "other"}});
  (void)add_credential(credential, "v", head);
  EXPECT_EQ(head["X-Api-Key"], "v");
  EXPECT_EQ(head.count("x_api_key") + head.count("x-api_key"), 0U);
  EXPECT_EQ(head["X-Api-Keys"], "other");
}

TEST(EgressCredential, APartOfAnAnswerCannotBeLookedThrough) {
  http::response_header<> head;
  head.result(http::status::ok);
  EXPECT_FALSE(is_unreadable(head));
  head.result(http::status::partial_content);
  EXPECT_TRUE(is_unreadable(head));
}

TEST(Redactor, LeavesNoSecretAndNoBeginningOfOne) {
  const Redactor redactor({"secret-one", "secret-one-longer", "abc"});
  EXPECT_EQ(redactor.redacted("a secret-one-longer b secret-one c"),
            "a ***************** b ********** c");
  std::string text = "xx secret-on";
  EXPECT_EQ(redactor.redact(text), 9U);
  EXPECT_EQ(text, "xx secret-on");
  text = "secret-one secret-onesecre";
  EXPECT_EQ(redactor.redact(text), 5U);
  EXPECT_EQ(text, "********** **********secre");
  text = "abc";
  EXPECT_EQ(redactor.redact(text), 0U);  // too short to be looked for
  EXPECT_EQ(text, "abc");
}

}  // namespace
