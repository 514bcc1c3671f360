// Following a run until it has ended: one loop for tools, commands and the APIs over HTTP.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "sessions/run_state.h"

namespace sessions {

class RunFiles;
class Runs;

struct FollowOptions {
  std::stop_token gone = {};      // nobody waits any more
  std::stop_token draining = {};  // this server is to stop
  // Following ends then; nothing: it goes on for as long as the run does.
  std::optional<std::chrono::steady_clock::time_point> until = std::nullopt;
  std::chrono::milliseconds look_every{
      30'000};  // how long to wait for news before `looked` is called
  // A session that is paused at the beginning is resumed; one that is paused later stays so. It is
  // for who comes back to a run. Who has just started one leaves it false: the start has resumed
  // the session, and a client's pause may come before the first wait.
  bool wakes = false;
  // Takes bytes of "stdout" or "stderr" that have come. Returns false when nobody wants more. Null:
  // output is left where it is.
  std::function<bool(const char* stream, std::string bytes)> printed = nullptr;
  std::size_t piece_bytes = std::size_t{256} << 10;  // at most so many at once
  // Is called after each wait that brought no output and no end. Returns false when nobody wants
  // more. May be null.
  std::function<bool(const RunState& state)> looked = nullptr;
};

struct Followed {
  enum class End {
    kEnded,     // the run has
    kGone,      // as `gone` says
    kDraining,  // as `draining` says; the run goes on
    kTimeIsUp,  // as `until` says
    kUnwanted,  // as a callback says
  };
  RunState state;  // as it was seen last
  End end = End::kEnded;
};

// Fails as Runs::wait() does, and where output cannot be read.
base::Result<Followed> follow(Runs& runs, const RunFiles& files, const std::string& principal_id,
                              RunState state, const FollowOptions& options);

}  // namespace sessions
