// A box of another process, as this one uses it. Safe from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/box_connection.h"
#include "sandbox/sandbox.h"

namespace sandbox {

// Asks the box for its status. A box that answers what cannot be is ended.
base::Result<BoxStatus> ask_status(BoxConnection& connection, std::chrono::milliseconds patience);

// Keeps idle connections, at least one while the box lives: the box stays for as long as a server
// is connected.
class ConnectedBox : public Box {
 public:
  using Attach = BoxConnection::Attach;
  ConnectedBox(std::string session_directory, std::int64_t detach_seconds, Attach attach)
      : session_directory_(std::move(session_directory)),
        detach_seconds_(detach_seconds),
        attach_(attach) {}

  base::Status connect();
  [[nodiscard]] bool usable();
  // Returns a pidfd of it; it is not valid where nobody tells, or nothing is connected.
  [[nodiscard]] base::UniqueFd process();

  base::Status submit(const RunRequest& request) override;
  base::Result<Run> wait(const std::string& run_id, const WaitOptions& options,
                         std::stop_token stop) override;
  base::Status cancel(const std::string& run_id) override;
  base::Result<RunInput> input_of(const std::string& run_id) override;
  base::Status end_input(const std::string& run_id) override;
  base::Status end_context(const std::string& context) override;
  base::Result<BoxStatus> status() override;
  base::Status pause() override;
  base::Status resume() override;
  base::Status keep_awake() override;
  base::Status taken() override;
  base::Status end_with_connection() override;
  base::Status allow(const std::vector<NetworkRule>& rules, bool take_back) override;
  base::Status set_network(const BoxNetwork& network) override;
  base::Result<base::UniqueFd> root() override;
  base::Status take_disk_room(std::int64_t bytes, RoomFor what) override;
  void disk_written(std::int64_t bytes) override;
  base::Result<base::UniqueFd> connect(std::uint16_t port) override;
  base::Status set_lifetime(std::int64_t ends_in_ms, bool pauses) override;
  base::Status shutdown(const std::string& why, std::chrono::milliseconds patience) override;
  base::Status shutdown_revoked(const std::string& why) override;
  base::Status shutdown_for_good() override;
  base::Status shutdown_if_idle(const std::string& why) override;
  bool ends_with_service() override;

 private:
  base::Result<nlohmann::json> call(const nlohmann::json& request);
  base::Result<nlohmann::json> call(BoxConnection connection, const nlohmann::json& request);
  // Makes a request whose answer comes with a descriptor. Returns the descriptor, and puts the
  // answer into `reply`.
  base::Result<base::UniqueFd> call_for_fd(const nlohmann::json& request, nlohmann::json& reply);
  base::Error failed(BoxConnection connection, base::Error failure, const std::stop_token& stop);
  base::Result<Run> wait_slice(const std::string& run_id, const WaitOptions& options,
                               const std::stop_token& stop);
  std::optional<BoxConnection> take_idle();
  // Fails with kUnavailable when the box has ended.
  base::Result<BoxConnection> take();
  void give_back(BoxConnection connection);

  const std::string session_directory_;
  const std::int64_t detach_seconds_;
  const Attach attach_;
  std::mutex mutex_;
  std::vector<BoxConnection> idle_;
};

}  // namespace sandbox
