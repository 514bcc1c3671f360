// Decides how long a box stays. Pure: no kernel, no clock.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace sandbox::box {

enum class Ending {
  kStored,   // once what it knows is stored
  kRevoked,  // as kStored, but it is to have less than it has: at once where runs are on
  kForGood,  // at once, and its files end with it
};

// A Situation says how things are at this moment.
struct Situation {
  std::optional<std::chrono::seconds> alone;   // without a server; nothing: one is connected
  std::chrono::seconds detach{0};              // the servers asked it to stay so long
  bool ends_with_connection = false;           // nobody will come back to it by its name
  bool with_deadline = false;                  // such runs wait or run
  bool without_deadline = false;               // such runs run: in the background, for ever if let
  std::optional<std::chrono::seconds> paused;  // for how long; nothing: it is not
  bool paused_on_request = false;              // and not because it was idle
  std::chrono::seconds paused_max{0};
  bool memory_is_scarce = false;  // on the host: unused memory is to be given back
};

// Why it has to end now, in words that fit behind "because" and for the record of its runs.
std::optional<std::string> reason_to_end(const Situation& situation);

}  // namespace sandbox::box
