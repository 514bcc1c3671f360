// Holds open streams on an MCP server, those of sessions and those of subscriptions/listen, and
// calls a tool of it meanwhile, whose answers have to say "hello"; prints one line of JSON.
//
//   http_load PORT PATH PID STREAMS LISTENS CLIENTS SECONDS PARAMS
#include <httplib.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

const char* const kOpening =
    R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",)"
    R"("capabilities":{},"clientInfo":{"name":"load","version":"1"}}})";
const char* const kOpened = R"({"jsonrpc":"2.0","method":"notifications/initialized"})";
const char* const kListen =
    R"({"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":)"
    R"({"toolsListChanged":true,"resourcesListChanged":true},"_meta":{)"
    R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
    R"("io.modelcontextprotocol/clientCapabilities":{}}}})";

struct Target {
  int port = 0;
  std::string path;
  std::string call;  // the message
};

httplib::Headers headers() {
  return {{"Accept", "application/json, text/event-stream"},
          {"MCP-Protocol-Version", "2025-11-25"}};
}

// Empty when the server did not open a session.
std::string open_session(httplib::Client& client, const Target& target) {
  const auto opened = client.Post(target.path, headers(), kOpening, "application/json");
  if (!opened || opened->status != 200) return "";
  httplib::Headers fields = headers();
  const std::string session = opened->get_header_value("Mcp-Session-Id");
  fields.emplace("Mcp-Session-Id", session);
  (void)client.Post(target.path, fields, kOpened, "application/json");
  return session;
}

long memory_kib(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmRSS:")) return std::stol(line.substr(6));
  }
  return 0;
}

// A descriptor on which the head of an endless response has come, and `sign` after it; -1 when it
// has not.
int open_stream(const Target& target, const std::string& request, std::string_view sign) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(target.port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string head;
  bool open = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
              ::send(fd, request.data(), request.size(), MSG_NOSIGNAL) > 0;
  while (open && head.find(sign) == std::string::npos) {
    char bytes[4096];
    const ssize_t got = ::recv(fd, bytes, sizeof bytes, 0);
    open = got > 0;
    if (open) head.append(bytes, static_cast<std::size_t>(got));
  }
  if (open && head.starts_with("HTTP/1.1 200")) return fd;
  ::close(fd);
  return -1;
}

int open_session_stream(const Target& target, const std::string& session) {
  return open_stream(target,
                     "GET " + target.path +
                         " HTTP/1.1\r\nHost: localhost:" + std::to_string(target.port) +
                         "\r\nAccept: text/event-stream\r\nMCP-Protocol-Version: 2025-11-25"
                         "\r\nMcp-Session-Id: " +
                         session + "\r\n\r\n",
                     "HTTP/1.1 200");
}

int open_listen(const Target& target) {
  const std::string body = kListen;
  return open_stream(target,
                     "POST " + target.path +
                         " HTTP/1.1\r\nHost: localhost:" + std::to_string(target.port) +
                         "\r\nAccept: application/json, text/event-stream"
                         "\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28"
                         "\r\nMcp-Method: subscriptions/listen\r\nContent-Length: " +
                         std::to_string(body.size()) + "\r\n\r\n" + body,
                     "subscriptions/acknowledged");
}

constexpr std::size_t kFailuresShown = 5;

struct Calls {
  std::mutex mutex;
  std::vector<std::string> first_failures;
  std::vector<double> milliseconds;
  std::atomic<long> failures = 0;
};

void call_until(const Target& target, Clock::time_point end, Calls& calls) {
  httplib::Client client("127.0.0.1", target.port);
  client.set_keep_alive(true);
  client.set_tcp_nodelay(true);
  client.set_read_timeout(60);
  httplib::Headers fields = headers();
  fields.emplace("Mcp-Session-Id", open_session(client, target));
  std::vector<double> own;
  while (Clock::now() < end) {
    const auto begun = Clock::now();
    const auto answer = client.Post(target.path, fields, target.call, "application/json");
    own.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begun).count());
    const bool ok =
        answer && answer->status == 200 && answer->body.find("hello") != std::string::npos;
    if (ok) continue;
    ++calls.failures;
    const std::lock_guard lock(calls.mutex);
    if (calls.first_failures.size() >= kFailuresShown) continue;
    calls.first_failures.push_back(answer ? std::to_string(answer->status) + " " +
                                                answer->body.substr(0, 2000)
                                          : httplib::to_string(answer.error()));
  }
  const std::lock_guard lock(calls.mutex);
  calls.milliseconds.insert(calls.milliseconds.end(), own.begin(), own.end());
}

double percentile(const std::vector<double>& sorted, double share) {
  return sorted.empty() ? 0 : sorted[static_cast<std::size_t>(share * double(sorted.size() - 1))];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 9) return 2;
  const json call = {
      {"jsonrpc", "2.0"}, {"id", 7}, {"method", "tools/call"}, {"params", json::parse(argv[8])}};
  const Target target{std::stoi(argv[1]), argv[2], call.dump()};
  const std::string pid = argv[3];
  const long wanted = std::stol(argv[4]);
  const long listens = std::stol(argv[5]);
  const long clients = std::stol(argv[6]);
  const auto seconds = std::chrono::seconds(std::stol(argv[7]));

  Calls warm_up;
  call_until(target, Clock::now() + std::chrono::seconds(1), warm_up);
  const long before = memory_kib(pid);
  std::vector<int> streams;
  httplib::Client opener("127.0.0.1", target.port);
  opener.set_keep_alive(true);
  opener.set_tcp_nodelay(true);
  for (long i = 0; i < wanted; ++i) {
    const int fd = open_session_stream(target, open_session(opener, target));
    if (fd >= 0) streams.push_back(fd);
  }
  const long with_streams = memory_kib(pid);
  const std::size_t session_streams = streams.size();
  for (long i = 0; i < listens; ++i) {
    const int fd = open_listen(target);
    if (fd >= 0) streams.push_back(fd);
  }
  const std::size_t open_listens = streams.size() - session_streams;
  const long with_listens = memory_kib(pid);

  Calls calls;
  const auto begun = Clock::now();
  std::vector<std::thread> threads;
  for (long i = 0; i < clients; ++i) {
    threads.emplace_back([&] { call_until(target, begun + seconds, calls); });
  }
  for (std::thread& thread : threads) thread.join();
  const double took = std::chrono::duration<double>(Clock::now() - begun).count();

  long lost = 0;
  for (const int fd : streams) {
    char byte;
    const ssize_t got = ::recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    if (got == 0 || (got < 0 && errno != EAGAIN)) ++lost;
  }
  std::sort(calls.milliseconds.begin(), calls.milliseconds.end());
  const json result = {
      {"streams", session_streams},
      {"listens", open_listens},
      {"streams_lost", lost},
      {"kib_per_stream",
       session_streams == 0 ? 0.0 : double(with_streams - before) / double(session_streams)},
      {"kib_per_listen",
       open_listens == 0 ? 0.0 : double(with_listens - with_streams) / double(open_listens)},
      {"requests_per_second", double(calls.milliseconds.size()) / took},
      {"p50_ms", percentile(calls.milliseconds, 0.50)},
      {"p99_ms", percentile(calls.milliseconds, 0.99)},
      {"failures", calls.failures.load()},
      {"first_failures", calls.first_failures}};
  std::printf("%s\n", result.dump().c_str());
  return 0;
}
