// Signature Version 4: requests and signatures of the test suite that AWS publishes for it, and
// what becomes of a signature that is there.
#include <gtest/gtest.h>

#include "base/digest.h"
#include "sandbox/egress/http_signature.h"

namespace {

using namespace sandbox::egress;
namespace http = boost::beast::http;
using SignedHead = http::request_header<>;

constexpr std::time_t kThen = 1440938160;  // 2015-08-30T12:36:00Z
const SigningKey kKey{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""};
const SigningScope kScope{"us-east-1", "service"};

SignedHead head_of(http::verb method, const std::string& target) {
  SignedHead head;
  head.method(method);
  head.target(target);
  head.set(http::field::host, "example.amazonaws.com");
  return head;
}

std::string signature_in(const SignedHead& head) {
  const auto value = head[http::field::authorization];
  const std::string text(value.data(), value.size());
  return text.substr(text.rfind('=') + 1);
}

std::string signature_of(http::verb method, const std::string& target) {
  SignedHead head = head_of(method, target);
  (void)sign(kKey, kScope, base::sha256_hex("").value(), kThen, head);
  return signature_in(head);
}

TEST(EgressSignature, IsThatOfThePublishedRequests) {
  EXPECT_EQ(signature_of(http::verb::get, "/"),
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  EXPECT_EQ(signature_of(http::verb::get, "/?Param2=value2&Param1=value1"),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
  EXPECT_EQ(signature_of(http::verb::post, "/"),
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
}

TEST(EgressSignature, ParametersAreSortedByTheirNames) {
  EXPECT_EQ(signature_of(http::verb::get, "/?a=1&a%20b=2&a=0"),
            signature_of(http::verb::get, "/?a=0&a=1&a%20b=2"));
  EXPECT_EQ(signature_of(http::verb::get, "/?a%20b=2&a=0"),
            "26892e5a666f9eafe1f9ba3623027a2210e45b8b00d454e5f45e6bdc1e21a526");
}

TEST(EgressSignature, TakesThePlaceOfOneThatIsThere) {
  SignedHead head = head_of(http::verb::get, "/?X-Amz-Signature=a&X-Amz-Credential=b%2Fc&mine=1");
  head.insert(http::field::authorization, "AWS4-HMAC-SHA256 Credential=mine/...");
  head.insert("X-Amz-Security-Token", "mine");
  head.insert("X-Amz-Date", "20000101T000000Z");
  SigningKey key = kKey;
  key.token = "of-a-while";
  const auto secrets = sign(key, kScope, base::sha256_hex("").value(), kThen, head).value();
  EXPECT_EQ(head.target(), "/?mine=1");
  EXPECT_EQ(head.count(http::field::authorization), 1U);
  EXPECT_EQ(head["x-amz-security-token"], "of-a-while");
  EXPECT_EQ(head["x-amz-date"], "20150830T123600Z");
  EXPECT_EQ(secrets, (std::vector<std::string>{key.secret, signature_in(head), key.token}));
}

TEST(EgressSignature, ScopeIsWhatTheCodeSaysElseWhatTheHostIsCalled) {
  const auto scope = [](const SignedHead& head, std::string_view host) {
    const auto found = signing_scope_of(head, host);
    return found ? found->region + " " + found->service : "";
  };
  const SignedHead plain = head_of(http::verb::get, "/");
  EXPECT_EQ(scope(plain, "dynamodb.eu-west-1.amazonaws.com"), "eu-west-1 dynamodb");
  EXPECT_EQ(scope(plain, "bucket.s3.eu-west-1.amazonaws.com"), "eu-west-1 s3");
  EXPECT_EQ(scope(plain, "bucket.s3.amazonaws.com"), "us-east-1 s3");
  EXPECT_EQ(scope(plain, "iam.amazonaws.com"), "us-east-1 iam");
  EXPECT_EQ(scope(plain, "minio.example"), "");
  SignedHead own = plain;
  own.set(http::field::authorization,
          "AWS4-HMAC-SHA256 Credential=me/20150830/eu-north-1/s3/aws4_request, SignedHeaders=host");
  EXPECT_EQ(scope(own, "minio.example"), "eu-north-1 s3");
  const SignedHead in_query =
      head_of(http::verb::get, "/?X-Amz-Credential=me%2F20150830%2Feu-north-1%2Fs3%2Faws4_request");
  EXPECT_EQ(scope(in_query, "minio.example"), "eu-north-1 s3");
}

TEST(EgressSignature, KeysAreOfTwoOrThreeParts) {
  EXPECT_EQ(signing_key_of("id:secret")->secret, "secret");
  EXPECT_EQ(signing_key_of("id:secret:token")->token, "token");
  EXPECT_EQ(signing_key_of(R"({"AccessKeyId":"id","SecretAccessKey":"s","SessionToken":"t"})")->id,
            "id");
  for (const char* none : {"", "id", ":secret", "id:", "a:b:c:d", "{", "{}"}) {
    EXPECT_FALSE(signing_key_of(none)) << none;
  }
}

TEST(EgressSignature, PartsThatAreSignedOneByOneAreNotSignedAnew) {
  SignedHead head = head_of(http::verb::put, "/");
  EXPECT_EQ(payload_told_by(head, kScope), "");
  EXPECT_EQ(payload_told_by(head, {"us-east-1", "s3"}), "UNSIGNED-PAYLOAD");
  head.set("x-amz-content-sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER");
  EXPECT_EQ(payload_told_by(head, kScope), "STREAMING-UNSIGNED-PAYLOAD-TRAILER");
  head.set("x-amz-content-sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD");
  EXPECT_FALSE(payload_told_by(head, kScope));
}

}  // namespace
