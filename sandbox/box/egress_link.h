// A box's connection to hutch-egress, which is started when nobody answers there. While there is
// none, what the code sends waits in the box's sockets and leaves nowhere.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/box/event_loop.h"
#include "sandbox/box/network.h"
#include "sandbox/box_spec.h"

namespace sandbox::box {

class EgressLink {
 public:
  using Told = std::function<void(const nlohmann::json& event)>;

  // `sockets` are those of listeners_of(spec.network), in its order. `told` hears what the door
  // says.
  static base::Result<std::unique_ptr<EgressLink>> open(EventLoop& loop, const BoxSpec& spec,
                                                        std::vector<base::UniqueFd> sockets,
                                                        Told told);
  ~EgressLink();
  EgressLink(const EgressLink&) = delete;
  EgressLink& operator=(const EgressLink&) = delete;

  // Returns the listeners that code can connect to already.
  [[nodiscard]] const std::vector<Listener>& listeners() const { return listeners_; }
  // Adds listeners, with their sockets.
  void add(const std::vector<Listener>& listeners, std::vector<base::UniqueFd> sockets);
  // Tells the door the rules of the spec, which have changed.
  void tell_rules();

  // Takes what the door has said until now, for a caller that is about to tell of it.
  void catch_up();
  // While held, takes nothing more from the door, so that it lets nothing new begin.
  void hold(bool is_held);
  // Takes what the door has yet to say, held or not, and then no more: the session ends.
  void finish();

 private:
  EgressLink(EventLoop& loop, const BoxSpec& spec, std::vector<base::UniqueFd> sockets, Told told);

  base::Status connect();
  base::Status start_door(int directory_fd);
  [[nodiscard]] base::Result<base::UniqueFd> open_downloads() const;
  base::Status introduce();
  base::Status tell_listeners(std::size_t first);
  [[nodiscard]] nlohmann::json policy() const;
  void read_events();
  base::Status listen();
  void hand_over(const std::string& credential);
  base::Result<base::UniqueFd> start_handing_over(const std::string& credential);
  void lost();
  void try_again();

  EventLoop& loop_;
  const BoxSpec& spec_;
  std::vector<Listener> listeners_;
  std::vector<base::UniqueFd> sockets_;  // one for each of listeners_
  Told told_;
  base::UniqueFd connection_;
  EventLoop::TimerId retry_ = 0;
  int attempts_ = 0;
  pid_t door_pid_ = -1;  // the door's, if this box has started one
  std::vector<pid_t> handing_over_;
  std::int64_t bytes_used_ = 0;  // as the door has told of them
  bool is_held_ = false;
  bool is_finishing_ = false;
  bool has_ended_ = false;
};

}  // namespace sandbox::box
