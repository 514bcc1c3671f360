// The box's listening socket: takes connections of servers, answers their requests.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "sandbox/box/connection.h"
#include "sandbox/box/event_loop.h"
#include "sandbox/box/life.h"
#include "sandbox/box/runs.h"
#include "sandbox/unfinished_uploads.h"

namespace sandbox::box {

class Control {
 public:
  // The box does these things for a request; Control itself knows runs and waiting only.
  struct Actions {
    std::function<Runs&()> runs;
    std::function<void()> used;  // thaws, and counts as use
    std::function<base::Status()> pause;
    std::function<base::Status()> resume;
    std::function<void()> in_use;
    std::function<void()> taken;
    std::function<void()> end_with_connection;
    std::function<base::Status(const std::vector<NetworkRule>&, bool take_back)> allow;
    std::function<base::Status(BoxNetwork)> set_network;
    std::function<nlohmann::json()> status;
    std::function<int()> root_fd;
    std::function<base::Result<base::UniqueFd>(int family, std::uint16_t port)> connect;
    std::function<void(std::int64_t ends_in_ms, bool pauses)> set_lifetime;
    std::function<base::Status(std::int64_t bytes, RoomFor what)> take_disk_room;
    std::function<void(std::int64_t bytes)> disk_written;
    std::function<void()> servers_are_gone;  // whatever they were writing is written
    // Ends everything, then the loop.
    std::function<void(const std::string& why, Ending ending)> shutdown;
  };

  static base::Result<std::unique_ptr<Control>> listen(EventLoop& loop, base::UniqueFd socket,
                                                       Actions actions);
  ~Control();

  // Something about the run is new: answers those who wait for it.
  void run_changed(const std::string& run_id);

  [[nodiscard]] bool attached() const { return attached_count_ > 0; }
  // Returns the longest that any server asked the box to stay without one.
  [[nodiscard]] std::optional<std::int64_t> detach_seconds() const { return detach_seconds_; }

 private:
  // A Wait is a request to wait for a run that is not answered yet.
  struct Wait {
    std::string run_id;
    bool until_output = false;
    std::int64_t stdout_offset = 0;
    std::int64_t stderr_offset = 0;
  };
  struct Client {
    std::unique_ptr<Connection> connection;
    bool greeted = false;
    bool attached = false;
    bool gone = false;
    std::optional<Wait> waiting;
    EventLoop::TimerId timeout = 0;
    EventLoop::TimerId soon = 0;
  };

  Control(EventLoop& loop, base::UniqueFd socket, Actions actions)
      : loop_(loop), socket_(std::move(socket)), actions_(std::move(actions)) {}

  void accept();
  void accept_later();
  void handle(Client& client, const nlohmann::json& request);
  base::Result<nlohmann::json> answer(Client& client, const nlohmann::json& request);
  base::Status greet(Client& client, const nlohmann::json& request);
  base::Result<nlohmann::json> answer_of_run(Client& client, const std::string& op,
                                             const std::string& run_id,
                                             const nlohmann::json& request);
  // Does what `op` says and has no answer; false: it is none of these.
  base::Result<bool> act(const std::string& op, const nlohmann::json& request);
  // Gives the box what `request` has of that kind; false: there is no such kind.
  base::Result<bool> set(const std::string& op, const nlohmann::json& request);
  void hand_over_root(const Client& client);
  static void hand_over(const Client& client, int fd, nlohmann::json reply);
  base::Status hand_over_connection(const Client& client, const nlohmann::json& request);
  void start_waiting(Client& client, const nlohmann::json& request);
  bool answer_wait(Client& client, bool time_is_up);
  void drop(Client& client);

  EventLoop& loop_;
  base::UniqueFd socket_;
  Actions actions_;
  std::list<Client> clients_;
  int attached_count_ = 0;
  std::optional<std::int64_t> detach_seconds_;
};

}  // namespace sandbox::box
