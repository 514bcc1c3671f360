// The end of a service, which takes every process in its cgroup: what its sessions know is stored
// before, and their boxes end in order. Safe from any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"

namespace sessions {

class SessionLists;
struct Ground;

class ServiceStop {
 public:
  ServiceStop(Ground& ground, SessionLists& session_lists)
      : ground_(ground), session_lists_(session_lists) {}

  struct Report {
    std::size_t ended = 0;
    std::vector<std::string> left;  // ids of sessions whose box has not ended, and why
  };
  // Ends the boxes that end with this service anyhow, whoever started them, and leaves others
  // alone. Those that have not ended when `patience` is over are left, too: their sessions come
  // back with what was stored after an earlier run. To be called once nothing starts boxes any
  // more.
  base::Result<Report> end_boxes(std::chrono::seconds patience);

 private:
  // Returns the ids of sessions whose box ends with this service.
  base::Result<std::vector<std::string>> boxes_of_service(Report& report);
  // Has the box begin to end; false where it does not.
  bool ask(const std::string& session_id, Report& report);

  Ground& ground_;
  SessionLists& session_lists_;
};

}  // namespace sessions
