// X-Request-Id is taken where it is one, made where it is none, and given back with every answer.
#include "mcp/http/request_id.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/mcp/http/http_fixture.h"

namespace mcp::http {
namespace {

class RequestIds : public Http {
 protected:
  RequestIds() {
    options_.on_access = [this](const AccessRecord& record) {
      const std::lock_guard lock(mutex_);
      logged_.push_back(record.request.id);
    };
    Route later{"GET", "/later", Route::Access::kPublic, [](const Request& asked) {
                  Response response;
                  response.content_type = "text/plain";
                  response.body = "later " + asked.id;
                  return response;
                }};
    later.work = Route::Work::kCall;
    options_.routes.push_back(std::move(later));
  }
  ~RequestIds() override { service_.reset(); }  // before what it logs to

  // It returns the whole answer to a request with these header lines.
  std::string answer(const std::string& start, const std::string& lines) {
    const int fd = connect();
    send(fd, start + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + lines + "\r\n");
    std::string all = receive(fd);
    ::close(fd);
    return all;
  }

  bool is_logged(const std::string& id) {
    const std::lock_guard lock(mutex_);
    return std::find(logged_.begin(), logged_.end(), id) != logged_.end();
  }

  static std::string id_in(const std::string& answer) {
    const std::string name = "\r\nX-Request-Id: ";
    const std::size_t at = answer.find(name);
    if (at == std::string::npos) return "";
    EXPECT_EQ(answer.find(name, at + 1), std::string::npos) << "twice: " << answer;
    const std::size_t begin = at + name.size();
    return answer.substr(begin, answer.find("\r\n", begin) - begin);
  }

  std::mutex mutex_;
  std::vector<std::string> logged_;
};

TEST_F(RequestIds, AreGivenBackWhateverIsAnswered) {
  start();
  for (const char* path : {"GET /healthz", "GET /later", "GET /nothing", "GET /metrics",
                           "DELETE /healthz", "OPTIONS /mcp", "HEAD /healthz"}) {
    EXPECT_EQ(id_in(answer(path, "X-Request-Id: abc-123/~!\r\n")), "abc-123/~!") << path;
  }
  EXPECT_NE(answer("GET /later", "X-Request-Id: seen\r\n").find("\r\n\r\nlater seen"),
            std::string::npos);
  EXPECT_EQ(id_in(answer("GET /healthz", "x-request-id: q\r\nHost: evil.example\r\n")), "q");
  const std::lock_guard lock(mutex_);
  EXPECT_EQ(logged_.front(), "abc-123/~!");
}

TEST_F(RequestIds, AreMadeWhereThereIsNone) {
  start();
  const std::string first = id_in(answer("GET /healthz", ""));
  EXPECT_GE(first.size(), 32U);
  EXPECT_NE(first, id_in(answer("GET /healthz", "")));
  const std::string most(128, 'x');
  EXPECT_EQ(id_in(answer("GET /healthz", "X-Request-Id: " + most + "\r\n")), most);
  for (const std::string& bad :
       {most + "x", std::string("two words"), std::string("\xc3\xa9"), std::string()}) {
    const std::string made = id_in(answer("GET /healthz", "X-Request-Id: " + bad + "\r\n"));
    EXPECT_GE(made.size(), 32U) << bad;
    EXPECT_EQ(made.find_first_not_of("0123456789abcdef"), std::string::npos) << made;
  }
  EXPECT_GE(id_in(answer("GET /healthz", "X-Request-Id: a\r\nX-Request-Id: b\r\n")).size(), 32U);
}

TEST_F(RequestIds, AreThereToo) {
  start();
  // No route is asked for these: the body, the framing, the line and the head are wrong.
  EXPECT_EQ(id_in(answer("POST /mcp",
                         "Authorization: Bearer a\r\nX-Request-Id: q\r\n"
                         "Content-Length: 999999999999\r\n")),
            "q");
  EXPECT_NE(id_in(answer("POST /mcp", "Content-Length: x\r\n")), "");
  EXPECT_NE(id_in(answer("GET /" + std::string(8000, 'a'), "")), "");
  EXPECT_NE(id_in(answer("GET /healthz", "A: " + std::string(40'000, 'a') + "\r\n")), "");
}

TEST_F(RequestIds, AreLoggedAndCountedWhereNoHeadHasComeWhole) {
  start();
  const std::string refused = answer("GET /healthz", "A: " + std::string(40'000, 'a') + "\r\n");
  ASSERT_TRUE(refused.starts_with("HTTP/1.1 431 ")) << refused;
  while (!is_logged(id_in(refused))) std::this_thread::yield();  // by a thread of its own
  const std::string metrics = answer("GET /metrics", "Authorization: Bearer alice\r\n");
  EXPECT_NE(metrics.find(R"({route="other",status="431"} 1)"), std::string::npos) << metrics;
}

}  // namespace
}  // namespace mcp::http
