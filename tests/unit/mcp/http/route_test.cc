// Routes: which one answers, and what else than a body one can answer with.
#include "mcp/http/route.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <atomic>
#include <latch>
#include <string>

#include "tests/unit/mcp/http/http_fixture.h"
#include "tests/unit/mcp/pipe_client.h"

namespace mcp::http {
namespace {

Response said(std::string text) {
  Response response;
  response.content_type = "text/plain";
  response.body = std::move(text);
  return response;
}

Route route(const char* method, const char* path) {
  return {method, path, Route::Access::kPublic, [](const Request&) { return said("here"); }};
}

Routes::Found find(const Routes& routes, const std::string& method, const std::string& path,
                   const std::string& host = "localhost") {
  Request head;
  head.method = method;
  head.path = path;
  head.headers.emplace("Host", host);
  return routes.find(head);
}

TEST(Routes, TakeHostsWithALabel) {
  Route by_host = route("", "");
  by_host.takes_label = [](const std::string& label) { return label.starts_with("3000-"); };
  // At hosts of sessions and at the plain one: the table's order says nothing.
  Route both = route("GET", "/both");
  both.takes_label = [](const std::string& label) { return label.starts_with("49983-"); };
  const Routes routes({route("GET", "/here"), both, route("GET", "/here/"), by_host});
  const auto is_by_host = [&](const char* host) {
    const auto found = find(routes, "GET", "/here", host);
    return found.route != nullptr && found.route->takes_label != nullptr;
  };
  EXPECT_TRUE(is_by_host("3000-session_k2.localhost:8931"));
  EXPECT_TRUE(is_by_host("3000-Session_K2.example.org"));
  for (const char* host : {"localhost", "80-x.localhost", "3000-x", "a3000-x.localhost", ""}) {
    EXPECT_FALSE(is_by_host(host)) << host;
  }
  for (const char* path : {"/there", "/both", "/here", "/here/x"}) {
    EXPECT_EQ(find(routes, "GET", path, "3000-x.localhost").route->path, "") << path;
    EXPECT_EQ(find(routes, "GET", path, "80-x.localhost").route, nullptr) << path;
  }
  for (const char* host : {"localhost", "49983-x.localhost"}) {
    EXPECT_EQ(find(routes, "GET", "/both", host).route->path, "/both") << host;
  }
  EXPECT_EQ(find(routes, "GET", "/here", "49983-x.localhost").route, nullptr);
}

TEST(Routes, WhatIsForAnyHostLeavesThoseOfSessionsAlone) {
  Route by_host = route("", "");
  by_host.takes_label = [](const std::string& label) { return label.starts_with("3000-"); };
  Route probe = route("GET", "/healthz");
  probe.any_host = true;
  const Routes routes({probe, by_host, route("GET", "/here")});
  for (const char* host : {"10.0.0.1:8931", "evil.example.org", "10-0-0-1.pods.example.org"}) {
    EXPECT_EQ(find(routes, "GET", "/healthz", host).route->path, "/healthz") << host;
  }
  EXPECT_EQ(find(routes, "GET", "/healthz", "3000-x.localhost").route->path, "");
  EXPECT_EQ(find(routes, "GET", "/here", "10-0-0-1.pods.example.org").route, nullptr);
  EXPECT_EQ(find(routes, "GET", "").route, nullptr);
}

TEST(Routes, TakeSegmentsInPlaceOfBraces) {
  const Routes routes({route("GET", "/files/{id}"), route("GET", "/files/{id}/{name}"),
                       route("GET", "/below/"), route("GET", "/files")});
  EXPECT_EQ(find(routes, "GET", "/files/7").parameters.at("id"), "7");
  EXPECT_EQ(find(routes, "GET", "/files/7/a b").parameters.at("name"), "a b");
  EXPECT_TRUE(find(routes, "GET", "/files").takes_method);
  EXPECT_TRUE(find(routes, "GET", "/below/any/thing").takes_method);
  for (const char* other : {"/", "/files/", "/files/7/", "/files//a", "/files/7/a/b", "/file",
                            "/filesx/7", "/below", "//files", ""}) {
    EXPECT_EQ(find(routes, "GET", other).route, nullptr) << other;
  }
}

TEST(Routes, TellWhatAPathTakes) {
  const Routes routes({route("GET", "/a/{id}"), route("DELETE", "/a/{id}"), route("", "/b")});
  EXPECT_TRUE(find(routes, "HEAD", "/a/1").takes_method);
  EXPECT_TRUE(find(routes, "DELETE", "/a/1").takes_method);
  const auto found = find(routes, "POST", "/a/1");
  EXPECT_FALSE(found.takes_method);
  EXPECT_EQ(found.allow, "GET, HEAD, DELETE");
  EXPECT_TRUE(find(routes, "PATCH", "/b").takes_method);
}

class Served : public Http {
 protected:
  Route& add(const char* method, const char* path, std::function<Response(const Request&)> answer) {
    options_.routes.push_back({method, path, Route::Access::kPublic, std::move(answer)});
    options_.routes.back().refusal = [](int status, const std::string& message) {
      Response response = said("refused: " + message);
      response.status = status;
      return response;
    };
    return options_.routes.back();
  }

  static std::string request(const std::string& line, const std::string& body = "",
                             const std::string& headers = "") {
    return line + " HTTP/1.1\r\nHost: localhost\r\n" + headers +
           (body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n") +
           "Connection: close\r\n\r\n" + body;
  }
};

TEST_F(Served, RefusesInTheWordsOfTheApi) {
  Route& small = add("POST", "/small", [](const Request& asked) { return said(asked.body); });
  small.body_bytes = 4;
  Route& closed = add("POST", "/closed", [](const Request&) { return said("in"); });
  closed.access = Route::Access::kChanges;
  options_.may_ask = [](const Principal& principal,
                        Route::Access access) -> std::optional<auth::Challenge> {
    if (principal.id == "alice" || access != Route::Access::kChanges) return std::nullopt;
    return auth::Challenge{403, "Bearer error=\"insufficient_scope\"", "may only read"};
  };
  start();
  EXPECT_TRUE(ask(request("POST /small", "1234")).ends_with("\r\n\r\n1234"));
  const std::string large = ask(request("POST /small", "12345"));
  EXPECT_TRUE(large.starts_with("HTTP/1.1 413 ")) << large;
  EXPECT_NE(large.find("refused: the body is larger"), std::string::npos) << large;
  const std::string chunks =
      ask("POST /small HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
          "5\r\n12345\r\n0\r\n\r\n");
  EXPECT_TRUE(chunks.starts_with("HTTP/1.1 413 ")) << chunks;
  const std::string other = ask(request("PUT /small"));
  EXPECT_TRUE(other.starts_with("HTTP/1.1 405 ")) << other;
  EXPECT_NE(other.find("Allow: POST\r\n"), std::string::npos) << other;
  EXPECT_NE(other.find("refused: "), std::string::npos) << other;
  const std::string nobody = ask(request("POST /closed"));
  EXPECT_TRUE(nobody.starts_with("HTTP/1.1 401 ")) << nobody;
  EXPECT_NE(nobody.find("WWW-Authenticate: Bearer"), std::string::npos) << nobody;
  EXPECT_NE(nobody.find("refused: "), std::string::npos) << nobody;
  const std::string reader = ask(request("POST /closed", "", "Authorization: Bearer bob\r\n"));
  EXPECT_TRUE(reader.starts_with("HTTP/1.1 403 ")) << reader;
  EXPECT_TRUE(ask(request("POST /closed", "", "Authorization: Bearer alice\r\n")).ends_with("in"));
}

TEST_F(Served, GivesAFileInPieces) {
  const auto file = std::make_shared<const base::UniqueFd>(::memfd_create("file", MFD_CLOEXEC));
  std::string content;
  while (content.size() < 3U << 20) content += std::to_string(content.size()) + "\n";
  ASSERT_EQ(::write(file->get(), content.data(), content.size()),
            static_cast<ssize_t>(content.size()));
  std::atomic<std::int64_t> bytes = static_cast<std::int64_t>(content.size()) - 5;
  std::string range;
  add("GET", "/file", [&](const Request& asked) {
    range = asked.range;
    Response response;
    response.content_type = "text/plain";
    response.file = {file, 5, bytes};
    return response;
  });
  start();
  const std::string whole = ask(request("GET /file", "", "Range:  bytes=1-2 \r\n"));
  EXPECT_TRUE(whole.starts_with("HTTP/1.1 200 ")) << whole.substr(0, 300);
  EXPECT_TRUE(whole.substr(whole.find("\r\n\r\n") + 4) == content.substr(5));
  EXPECT_EQ(range, "bytes=1-2");
  const std::string head = ask(request("HEAD /file"));
  EXPECT_NE(head.find("Content-Length: " + std::to_string(bytes) + "\r\n"), std::string::npos);
  EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
  bytes = 0;
  const std::string empty = ask(request("GET /file"));
  EXPECT_NE(empty.find("Content-Length: 0\r\n"), std::string::npos) << empty;
  // One that has become shorter than was promised is no whole answer.
  bytes = static_cast<std::int64_t>(content.size()) + 1000;
  const std::string cut = ask(request("GET /file"));
  EXPECT_LT(cut.size(), content.size() + 500);
}

TEST_F(Served, TakesAFormApart) {
  Route& form = add("POST", "/form", [](const Request& asked) {
    std::string all;
    for (const Part& part : asked.parts) {
      all += part.name + "|" + part.filename + "|" + part.content_type + "|" + part.content + ";";
    }
    return said(all + asked.body);
  });
  form.takes_parts = true;
  form.body_bytes = 4096;
  start();
  const std::string type = "Content-Type: multipart/form-data; boundary=b\r\n";
  const std::string body =
      "--b\r\nContent-Disposition: form-data; name=\"path\"\r\n\r\n/x\r\n"
      "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.bin\"\r\n"
      "Content-Type: image/png\r\n\r\n\r\n--\r\n--c\r\n--b--\r\n";
  EXPECT_TRUE(ask(request("POST /form", body, type))
                  .ends_with("\r\n\r\npath|||/x;file|a.bin|image/png|\r\n--\r\n--c;"));
  // Not to its end, of no boundary, too much.
  EXPECT_TRUE(ask(request("POST /form", body.substr(0, 150), type)).starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(ask(request("POST /form", body, "Content-Type: multipart/form-data\r\n"))
                  .starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(
      ask(request("POST /form", std::string(5000, 'x'), type)).starts_with("HTTP/1.1 413 "));
  // A body that is no form stays a body.
  EXPECT_TRUE(ask(request("POST /form", "raw", "Content-Type: text/plain\r\n")).ends_with("raw"));
  std::string many;
  for (int count = 0; count < 60; ++count) {
    many += "--b\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\nv\r\n";
  }
  EXPECT_TRUE(ask(request("POST /form", many + "--b--\r\n", type)).starts_with("HTTP/1.1 200 "));
}

TEST_F(Served, SaysHowManyPartsAFormMayHave) {
  Route& form = add("POST", "/form",
                    [](const Request& asked) { return said(std::to_string(asked.parts.size())); });
  form.takes_parts = true;
  form.parts_max = 2000;
  start();
  const std::string type = "Content-Type: multipart/form-data; boundary=b\r\n";
  std::string parts;
  for (int count = 0; count < 2000; ++count) {
    parts += "--b\r\nContent-Disposition: form-data; name=\"n\"; filename=\"f\"\r\n\r\nv\r\n";
  }
  EXPECT_TRUE(ask(request("POST /form", parts + "--b--\r\n", type)).ends_with("\r\n\r\n2000"));
  parts += "--b\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\nv\r\n";
  const std::string refused = ask(request("POST /form", parts + "--b--\r\n", type));
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 413 ")) << refused;
  EXPECT_NE(refused.find("more than 2000 files in one request"), std::string::npos) << refused;
}

TEST_F(Served, AnswersLaterOnAThreadForCalls) {
  std::latch release(1);
  std::atomic<int> waiting = 0;
  add("POST", "/long", [&](const Request& asked) {
    ++waiting;
    release.wait();
    return said("done " + asked.body);
  }).work = Route::Work::kCall;
  add("GET", "/throws", [](const Request&) -> Response {
    throw std::runtime_error("a secret of the server");
  }).work = Route::Work::kCall;
  options_.bounds.threads = 1;
  options_.call_threads = 2;
  options_.call_queue = 0;
  start();
  const int first = connect();
  send(first, "POST /long HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n1");
  while (waiting < 1) std::this_thread::yield();
  // The one thread that answers is free, and others are served.
  EXPECT_TRUE(ask(request("GET /healthz")).starts_with("HTTP/1.1 200 "));
  const int second = connect();
  send(second, "POST /long HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n2");
  while (waiting < 2) std::this_thread::yield();
  const std::string busy = ask(request("POST /long", "3"));
  EXPECT_TRUE(busy.starts_with("HTTP/1.1 429 ")) << busy;
  EXPECT_NE(busy.find("Retry-After: 1\r\n"), std::string::npos) << busy;
  release.count_down();
  EXPECT_NE(receive(first, "done 1").find("HTTP/1.1 200 "), std::string::npos);
  EXPECT_NE(receive(second, "done 2").find("HTTP/1.1 200 "), std::string::npos);
  // The connection goes on.
  send(first, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_NE(receive(first, "ok\n").find("HTTP/1.1 200 "), std::string::npos);
  ::close(first);
  ::close(second);
  std::string failed;
  // The thread that has answered is free a moment later.
  do failed = ask(request("GET /throws"));
  while (failed.starts_with("HTTP/1.1 429 "));
  EXPECT_TRUE(failed.starts_with("HTTP/1.1 500 ")) << failed;
  EXPECT_EQ(failed.find("secret"), std::string::npos) << failed;
}

// Curl sends such a header with a body of a MiB; its answer must say where it ends.
TEST_F(Served, AnswersLaterToWhoHeldItsBodyBack) {
  add("POST", "/long", [](const Request& asked) { return said("done " + asked.body); }).work =
      Route::Work::kCall;
  add("POST", "/no", [](const Request&) { return said(""); }).access = Route::Access::kReads;
  start();
  const std::string head = " HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n";
  const int fd = connect();
  send(fd, "POST /long" + head + "Content-Length: 2\r\n\r\n");
  EXPECT_TRUE(receive(fd, "\r\n\r\n").starts_with("HTTP/1.1 100 "));
  send(fd, "12");
  const std::string answer = receive(fd, "done 12");
  EXPECT_NE(answer.find("Content-Length: 7\r\n"), std::string::npos) << answer;
  send(fd, "POST /no" + head + "Content-Length: 0\r\n\r\n");
  const std::string refused = receive(fd, "token is needed");
  EXPECT_NE(refused.find("HTTP/1.1 401 "), std::string::npos) << refused;
  EXPECT_NE(refused.find("Content-Length: "), std::string::npos) << refused;
  ::close(fd);
}

TEST_F(Served, HearsOfAClientThatGoesBeforeItsAnswer) {
  fake::Event begun;
  std::atomic<bool> has_gone = false;
  add("POST", "/long", [&](const Request& asked) {
    fake::Event never;
    begun.set();
    has_gone = !never.wait(asked.gone);
    return said("late");
  }).work = Route::Work::kCall;
  std::atomic<int> others = 0;
  options_.bounds.threads = 1;  // so that one is heard of after the other
  add("POST", "/other", [&](const Request&) {
    ++others;
    return said("");
  }).work = Route::Work::kCall;
  options_.call_threads = 1;
  start();
  const int first = connect();
  send(first, "POST /long HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
  EXPECT_TRUE(begun.wait());
  // One that waits for its turn and goes has none.
  const int second = connect();
  send(second, "POST /other HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
  EXPECT_TRUE(ask(request("GET /healthz")).starts_with("HTTP/1.1 200 "));
  ::close(second);
  while (ask(request("GET /metrics", "", "Authorization: Bearer a\r\n"))
             .find("hutch_http_connections 2\n") == std::string::npos) {
  }
  ::close(first);
  service_->drain();
  EXPECT_TRUE(has_gone);
  EXPECT_EQ(others, 0);
}

TEST_F(Served, AStreamThatFailsEndsItsConnectionAlone) {
  add("POST", "/stream", [](const Request&) {
    Response response;
    response.content_type = "text/plain";
    response.start_stream = [](const std::shared_ptr<Stream>&) {
      throw std::runtime_error("no memory");
    };
    return response;
  }).work = Route::Work::kCall;
  start();
  const std::string failed = ask(request("POST /stream"));
  EXPECT_EQ(failed.find("no memory"), std::string::npos) << failed;
  EXPECT_TRUE(ask(request("GET /healthz")).starts_with("HTTP/1.1 200 "));
}

}  // namespace
}  // namespace mcp::http
