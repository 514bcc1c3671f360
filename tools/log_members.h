// A line of the log says besides its text for whom this thread is at work, and on what. A line in
// JSON has them as members.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tools {

// A member that is set while one of these lives is gone after it.
class LogMembers {
 public:
  using List = std::vector<std::pair<std::string_view, std::string>>;

  LogMembers();
  ~LogMembers();
  LogMembers(const LogMembers&) = delete;
  LogMembers& operator=(const LogMembers&) = delete;

  // The name is "principal", "session", "run", "tool" or "request_id", of static storage. An empty
  // value changes nothing, and neither does anything while none of these lives on this thread.
  static void set(std::string_view name, std::string value);
  // They have the order in which they were first set.
  static const List& now();

 private:
  List before_;
};

}  // namespace tools
