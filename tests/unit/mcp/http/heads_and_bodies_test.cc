// Tests what is let through to the HTTP library, and how long a body is.
#include <gtest/gtest.h>

#include <string>

#include "mcp/http/body_framing.h"
#include "mcp/http/head_filter.h"
#include "mcp/http/header_value.h"
#include "mcp/http/library.h"

namespace mcp::http {
namespace {

const Bounds kBounds;

int refusal(const std::string& head) { return filter_head(head, kBounds, false).refusal; }

TEST(HeadFilter, LetsAnOrdinaryHeadThroughAsItIs) {
  const std::string head = "POST /mcp?a=b HTTP/1.1\r\nHost: localhost:1\r\nX-A:\tb c \r\n\r\n";
  const auto filtered = filter_head(head, kBounds, false);
  EXPECT_EQ(filtered.refusal, 0);
  EXPECT_EQ(filtered.text, head);
}

TEST(HeadFilter, EscapesPercentInValuesOnly) {
  const auto filtered = filter_head("GET /%41 HTTP/1.1\r\nA%b: %0d%0a\r\n\r\n", kBounds, true);
  EXPECT_EQ(filtered.refusal, 0);
  EXPECT_EQ(filtered.text, "GET /%41 HTTP/1.1\r\nA%b: %250d%250a\r\n\r\n");
}

TEST(HeadFilter, TakesOutWhatTheLibraryWouldActOn) {
  const auto filtered = filter_head(
      "GET / HTTP/1.1\r\nremote_addr: 6.6.6.6\r\nRANGE: bytes=0-\r\nAccept-Encoding: gzip\r\n"
      "Keep: me\r\n\r\n",
      kBounds, false);
  EXPECT_EQ(filtered.refusal, 0);
  EXPECT_EQ(filtered.text, "GET / HTTP/1.1\r\nKeep: me\r\n\r\n");
}

TEST(HeadFilter, RefusesWhatTwoReadersReadDifferently) {
  for (const char* line : {"A : b", " A: b", "\tA: b", "A", ": b", "A: b\rc", "A: b\nc", "A: \x01",
                           "A: \x7f", "A(: b"}) {
    EXPECT_EQ(refusal("GET / HTTP/1.1\r\n" + std::string(line) + "\r\n\r\n"), 400) << line;
  }
  for (const char* line : {"GET /", "GET  / HTTP/1.1", "GET / HTTP/1.1 ", "GET x HTTP/1.1",
                           "GET /\tx HTTP/1.1", "GET /\xc3\xa9 HTTP/1.1", ""}) {
    EXPECT_EQ(refusal(std::string(line) + "\r\n\r\n"), 400) << line;
  }
  EXPECT_EQ(refusal("GET / HTTP/1.1"), 400);
}

TEST(HeadFilter, BoundsLinesAndTheirNumber) {
  EXPECT_EQ(refusal("GET /" + std::string(kBounds.target_bytes, 'a') + " HTTP/1.1\r\n\r\n"), 414);
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\nA: " + std::string(kBounds.header_bytes, 'a') + "\r\n\r\n"),
            431);
  std::string head = "GET / HTTP/1.1\r\n";
  for (std::size_t i = 0; i < kBounds.header_count; ++i) head += "A: b\r\n";
  EXPECT_EQ(refusal(head + "\r\n"), 0);
  EXPECT_EQ(refusal(head + "A: b\r\n\r\n"), 431);
}

Headers headers(std::initializer_list<std::pair<const char*, const char*>> pairs) {
  Headers result;
  for (const auto& [name, value] : pairs) result.emplace(name, value);
  return result;
}

TEST(BodyFraming, ReadsOneLengthOrChunks) {
  EXPECT_EQ(frame_body({}, kBounds).length, 0U);
  EXPECT_EQ(frame_body(headers({{"content-length", "12"}}), kBounds).length, 12U);
  EXPECT_TRUE(frame_body(headers({{"Transfer-Encoding", "Chunked"}}), kBounds).chunked);
  EXPECT_EQ(frame_body(headers({{"Content-Encoding", "identity"}}), kBounds).refusal, 0);
}

TEST(BodyFraming, RefusesTheRest) {
  const auto status = [](std::initializer_list<std::pair<const char*, const char*>> pairs) {
    return frame_body(headers(pairs), kBounds).refusal;
  };
  EXPECT_EQ(status({{"Content-Length", "1"}, {"Content-Length", "1"}}), 400);
  EXPECT_EQ(status({{"Content-Length", "1"}, {"Transfer-Encoding", "chunked"}}), 400);
  for (const char* length : {"-1", "+1", "1 2", "0x1", "a", "1,1"}) {
    EXPECT_EQ(status({{"Content-Length", length}}), 400) << length;
  }
  EXPECT_EQ(status({{"Content-Length", "117440513"}}), 413);
  EXPECT_EQ(status({{"Content-Length", "99999999999999999999999"}}), 413);
  EXPECT_EQ(status({{"Transfer-Encoding", "gzip, chunked"}}), 501);
  EXPECT_EQ(status({{"Content-Encoding", "br"}}), 415);
  EXPECT_EQ(status({{"Content-Encoding", "gzip"}, {"Content-Encoding", "gzip"}}), 415);
  EXPECT_TRUE(frame_body(headers({{"Content-Encoding", "gzip"}}), kBounds).gzip);
}

TEST(ChunkCheck, FollowsChunksByteByByte) {
  const std::string body = "5\r\nhello\r\nA\r\n0123456789\r\n0\r\n\r\n";
  ChunkCheck whole(100);
  EXPECT_TRUE(whole.feed(body));
  EXPECT_TRUE(whole.complete());
  ChunkCheck slow(100);
  for (const char byte : body) {
    EXPECT_FALSE(slow.complete());
    EXPECT_TRUE(slow.feed({&byte, 1}));
  }
  EXPECT_TRUE(slow.complete());
  EXPECT_FALSE(slow.feed("x")) << "nothing comes after the end";
}

TEST(ChunkCheck, RefusesWhatIsNone) {
  for (const char* body :
       {"-2\r\n", "+1\r\n", " 1\r\n", "\r\n", "1;a=b\r\n", "g\r\n", "1\n", "1\rx", "1\r\nab",
        "1\r\na\rx", "0\r\nTrailer: x\r\n", "000000001\r\n"}) {
    ChunkCheck chunks(100);
    EXPECT_FALSE(chunks.feed(body)) << body;
    EXPECT_FALSE(chunks.too_large()) << body;
  }
}

TEST(ChunkCheck, CountsAllChunksTogether) {
  ChunkCheck chunks(10);
  EXPECT_TRUE(chunks.feed("5\r\nhello\r\n5\r\nhello\r\n"));
  EXPECT_FALSE(chunks.feed("1\r\n"));
  EXPECT_TRUE(chunks.too_large());
  ChunkCheck huge(10);
  EXPECT_FALSE(huge.feed("ffffffff\r\n"));
  EXPECT_TRUE(huge.too_large());
}

TEST(HeaderValue, IsPlainOrStrictBase64) {
  EXPECT_EQ(decode_header_value(" \tplain \t"), "plain");
  EXPECT_EQ(decode_header_value(""), "");
  EXPECT_EQ(decode_header_value("=?base64?aGVsbG8=?="), "hello");
  EXPECT_EQ(decode_header_value("=?base64?aGVsbA==?="), "hell");
  EXPECT_EQ(decode_header_value("=?base64?aGVs?="), "hel");
  EXPECT_EQ(decode_header_value("=?base64?"
                                "?="),
            "");
  EXPECT_EQ(decode_header_value("=?base64?aGVs"), "=?base64?aGVs");
  for (const char* wrong : {"aGVsbG8", "aGVsbG9=", "aGV=", "a===", "====", "aGV sbG8", "-_-_",
                            "aGVsbG8=aGVs", "aGVs\n"}) {
    EXPECT_EQ(decode_header_value(std::string("=?base64?") + wrong + "?="), std::nullopt) << wrong;
  }
}

// The rest of the tests hold for the library that is installed, whatever it does here.
class Probe final : public Handler {
 public:
  std::optional<Body> admit(Request& head, Response&) override {
    seen = head;
    return Body{kBounds.body_bytes};
  }
  Response refused(const Request&, int with, const std::string&) override {
    Response response;
    response.status = with;
    return response;
  }
  Response handle(Request) override { throw std::runtime_error("a secret of the server"); }
  void answered(const Request&, int answered_with, bool) override { status = answered_with; }

  Request seen;
  int status = 0;
};

class TextBody final : public BodySource {
 public:
  explicit TextBody(std::string text) : text_(std::move(text)) {}
  std::size_t read(char* bytes, std::size_t size) override {
    const std::size_t taken = text_.copy(bytes, size);
    text_.erase(0, taken);
    return taken;
  }
  void write_now(std::string_view bytes) override { early += bytes; }
  bool keep(std::size_t) override { return true; }
  [[nodiscard]] int failure() const override { return 408; }

  std::string early;

 private:
  std::string text_;
};

Answer answer(const std::string& head, TextBody& body, Probe& probe) {
  const auto filtered = filter_head(head, kBounds, library_decodes_header_values());
  EXPECT_EQ(filtered.refusal, 0);
  return answer_request(filtered.text, {}, body, probe, kBounds);
}

TEST(Library, GivesHeaderValuesAsTheyWereSent) {
  Probe probe;
  TextBody body("");
  (void)answer("GET /a%20b?q=%26 HTTP/1.1\r\nX: %0d%0aY: 1%25\r\nREMOTE_ADDR: 6.6.6.6\r\n\r\n",
               body, probe);
  EXPECT_EQ(probe.seen.header("x"), "%0d%0aY: 1%25");
  EXPECT_EQ(probe.seen.path, "/a b");
  EXPECT_EQ(probe.seen.query.at("q"), "&");
  EXPECT_FALSE(probe.seen.has_header("REMOTE_ADDR"));
}

TEST(Library, TellsNothingOfAnException) {
  Probe probe;
  TextBody body("");
  const Answer got = answer("GET / HTTP/1.1\r\n\r\n", body, probe);
  EXPECT_TRUE(got.bytes.starts_with("HTTP/1.1 500 "));
  EXPECT_EQ(got.bytes.find("secret"), std::string::npos);
  EXPECT_EQ(probe.status, 500);
}

TEST(Library, AsksForABodyThatIsHeldBack) {
  Probe probe;
  TextBody body("{}");
  const Answer got =
      answer("POST / HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n", body, probe);
  EXPECT_TRUE(body.early.starts_with("HTTP/1.1 100 "));
  EXPECT_TRUE(got.bytes.starts_with("HTTP/1.1 500 "));
}

TEST(Library, ReadsNoFurtherThanTheBody) {
  Probe probe;
  TextBody body("{}GET / HTTP/1.1\r\n\r\n");
  (void)answer("POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n", body, probe);
  char next[4];
  EXPECT_EQ(body.read(next, 3), 3U);
  EXPECT_EQ(std::string(next, 3), "GET");
}

TEST(Library, ABodyThatEndsEarlyEndsTheConnection) {
  for (const char* framing : {"Content-Length: 5", "Transfer-Encoding: chunked"}) {
    Probe probe;
    TextBody body("2\r\n");
    const Answer got =
        answer("POST / HTTP/1.1\r\n" + std::string(framing) + "\r\n\r\n", body, probe);
    EXPECT_TRUE(got.bytes.starts_with("HTTP/1.1 408 ")) << framing;
    EXPECT_FALSE(got.keep_alive);
  }
}

}  // namespace
}  // namespace mcp::http
