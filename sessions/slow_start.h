// Tells whoever waits for a session what makes its start take long.
#pragma once

#include <functional>
#include <string>

namespace sessions {

// While a SlowStart lives, all that is told on its thread goes to it: the start that a call waits
// for is made on the thread of the call. There is one a thread at most.
class SlowStart {
 public:
  using Told = std::function<void(double done, const std::string& what)>;

  explicit SlowStart(Told told);
  ~SlowStart();
  SlowStart(const SlowStart&) = delete;
  SlowStart& operator=(const SlowStart&) = delete;

  // `done` is a share of 1, and grows.
  static void tell(double done, const std::string& what);

 private:
  const Told told_;
};

}  // namespace sessions
