#include "tools/setup/trial.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json.h"
#include "base/process.h"

namespace tools::setup {

using base::Error;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kPatience{60};
constexpr std::size_t kLineBytesMax = 1 << 20;

base::Error does_not(const std::string& what) {
  return base::error(Error::Kind::kUnavailable, what);
}

// The server's words say it, where it has some.
base::Error answers_with(const json& answer) {
  const json content = answer.value("content", json());
  const bool has_words = content.is_array() && content.size() == 1 && content[0].is_object();
  if (has_words && answer.value("isError", json()) == true) {
    return does_not("answers: " + base::string_or(content[0], "text"));
  }
  return does_not("answers " + base::print_json(answer));
}

// A server's two ends. Ends it when it goes.
class Server {
 public:
  static base::Result<Server> start(const std::vector<std::string>& words,
                                    const std::string& home) {
    base::Pipe in = TRY(base::make_pipe());
    base::Pipe out = TRY(base::make_pipe());
    base::SpawnOptions options;
    options.arguments = words;
    // `wsl.exe` and the like are found by name.
    if (words[0].find('/') == std::string::npos) {
      options.arguments.insert(options.arguments.begin(), "/usr/bin/env");
    }
    options.environment = {"HOME=" + home, "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"};
    options.descriptors = {in.read_end.get(), out.write_end.get(), STDERR_FILENO};
    const pid_t pid = TRY(base::spawn(options));
    return Server(pid, std::move(in.write_end), std::move(out.read_end));
  }
  Server(Server&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)),
        in_(std::move(other.in_)),
        out_(std::move(other.out_)),
        deadline_(other.deadline_),
        unread_(std::move(other.unread_)) {}
  Server& operator=(Server&&) = delete;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    in_.reset();  // the end of its input is what ends it
    if (pid_ > 0) (void)::waitpid(pid_, nullptr, 0);
  }

  base::Result<json> ask(int id, const char* method, const json& params) {
    TRY(tell({{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}}));
    while (true) {
      const std::string line = TRY(read_line());
      json answer = TRY(base::parse_json(line));
      if (!answer.is_object() || answer.value("id", json()) != id) continue;
      if (answer.contains("error")) return does_not("answers " + base::print_json(answer["error"]));
      return answer.value("result", json::object());
    }
  }
  base::Status tell(const json& message) {
    return base::write_all(in_.get(), base::print_json(message) + "\n");
  }

 private:
  Server(pid_t pid, base::UniqueFd in, base::UniqueFd out)
      : pid_(pid), in_(std::move(in)), out_(std::move(out)), deadline_(Clock::now() + kPatience) {}

  base::Result<std::string> read_line() {
    std::size_t end = 0;
    while ((end = unread_.find('\n')) == std::string::npos) {
      const short events = TRY(base::wait_for(out_.get(), POLLIN, deadline_));
      if (events == 0) {
        (void)::kill(pid_, SIGTERM);
        return does_not("does not answer within " + std::to_string(kPatience.count()) + " seconds");
      }
      char bytes[4096];
      const ssize_t size = ::read(out_.get(), bytes, sizeof bytes);
      if (size <= 0) return does_not("ends without an answer");
      unread_.append(bytes, static_cast<std::size_t>(size));
      if (unread_.size() > kLineBytesMax) return does_not("says too much");
    }
    std::string line = unread_.substr(0, end);
    unread_.erase(0, end + 1);
    return line;
  }

  pid_t pid_;
  base::UniqueFd in_;
  base::UniqueFd out_;
  Clock::time_point deadline_;
  std::string unread_;
};

}  // namespace

base::Result<Trial> try_entry(const std::vector<std::string>& words, const std::string& home) {
  if (words.empty()) return does_not("the entry names no command");
  const auto began = Clock::now();
  auto started = Server::start(words, home);
  if (!started.ok()) return std::move(started).error();
  Server server = std::move(started).value();
  const json client = {{"name", "hutch setup"}, {"version", "1"}};
  const json hello = TRY(server.ask(1, "initialize",
                                    {{"protocolVersion", "2025-06-18"},
                                     {"capabilities", json::object()},
                                     {"clientInfo", client}}));
  TRY(server.tell({{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}}));
  const json call = {{"name", "run_code"}, {"arguments", {{"code", "print(6 * 7)"}}}};
  const json answer = TRY(server.ask(2, "tools/call", call));
  const json run = answer.value("structuredContent", json::object());
  if (base::string_or(run, "stdout") != "42\n") return answers_with(answer);
  Trial trial;
  trial.took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began);
  const json info = hello.value("serverInfo", json::object());
  trial.server = base::string_or(info, "name") + " " + base::string_or(info, "version");
  const json end = {{"name", "delete_session"},
                    {"arguments", {{"session_id", base::string_or(run, "session_id")}}}};
  (void)server.ask(3, "tools/call", end);
  return trial;
}

}  // namespace tools::setup
