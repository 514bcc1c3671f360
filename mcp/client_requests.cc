#include "mcp/client_requests.h"

#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace mcp {

using nlohmann::json;

namespace {

constexpr std::size_t kErrorBytesMax = 500;  // the most of a client's words

RpcError read_error(const json& error) {
  RpcError read{kInternalError, "the client gave no reason", nullptr, nullptr};
  if (!error.is_object()) return read;
  const auto code = error.find("code");
  if (code != error.end() && code->is_number_integer()) read.code = code->get<int>();
  const auto message = error.find("message");
  if (message != error.end() && message->is_string()) {
    read.message = message->get_ref<const std::string&>().substr(0, kErrorBytesMax);
  }
  return read;
}

}  // namespace

json ClientRequests::open() {
  const std::lock_guard lock(mutex_);
  questions_.try_emplace(++last_id_);
  return last_id_;
}

void ClientRequests::settle(const Message& response) {
  if (!response.id->is_number_integer()) return;
  const std::lock_guard lock(mutex_);
  const auto question = questions_.find(response.id->get<std::int64_t>());
  if (question == questions_.end() || question->second.settled) return;
  question->second.settled = true;
  if (response.result->is_object()) {
    question->second.answer = response.result;
  } else {
    question->second.answer = read_error(response.error);
  }
  settled_.notify_all();
}

std::optional<std::variant<base::JsonValue, RpcError>> ClientRequests::wait(
    const json& id, std::chrono::milliseconds timeout, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto question = questions_.find(id.get<std::int64_t>());
  if (question == questions_.end()) return std::nullopt;
  const bool settled =
      settled_.wait_for(lock, stop, timeout, [&question] { return question->second.settled; });
  auto answer = std::move(question->second.answer);
  questions_.erase(question);
  if (!settled) return std::nullopt;
  return answer;
}

}  // namespace mcp
