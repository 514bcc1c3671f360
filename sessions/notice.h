// An operator is to read it in the log. Whoever opens a store or a manager says where that is.
#pragma once

#include <functional>
#include <string>

namespace sessions {

struct Notice {
  enum class Level {
    kInfo,
    kShown,  // whoever waits for a command sees it, too, whatever its log is to hold
    kWarning,
    kFailure,  // a warning where nobody hears how the call ends; a command ends with the same words
  };
  Level level = Level::kInfo;
  std::string message;
  // They say whose it is, where that is known.
  std::string principal_id = {};
  std::string session_id = {};
  std::string run_id = {};
};

using Notify = std::function<void(const Notice& notice)>;

}  // namespace sessions
