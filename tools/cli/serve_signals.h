// Signals tell hutch serve to end; or, where no terminal goes away with SIGHUP, to read its
// configuration anew.
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "base/fd.h"
#include "base/result.h"

namespace tools::cli {

class ServeSignals {
 public:
  // `reload` is called on a thread of this, which takes no other signal meanwhile.
  static base::Result<std::unique_ptr<ServeSignals>> watch(std::function<void()> reload);
  ~ServeSignals();
  ServeSignals(const ServeSignals&) = delete;
  ServeSignals& operator=(const ServeSignals&) = delete;

  // It is readable once the server is to end.
  [[nodiscard]] int ending_fd() const { return ending_.get(); }

 private:
  ServeSignals(base::UniqueFd signals, base::UniqueFd ending, base::UniqueFd over,
               std::function<void()> reload);
  void take_signals();

  const base::UniqueFd signals_;
  const base::UniqueFd ending_;
  const base::UniqueFd over_;           // this is
  const std::function<void()> reload_;  // null: SIGHUP is no such wish
  std::thread thread_;
};

}  // namespace tools::cli
