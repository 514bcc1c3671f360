// Who hears of the end of boxes.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <map>
#include <string>

#include "sandbox/box_watch.h"

namespace {

using sandbox::BoxWatch;

// Stands for a box.
class Sleeper {
 public:
  Sleeper() : pid_(::fork()) {
    if (pid_ == 0) {
      while (true) ::pause();
    }
  }
  ~Sleeper() { end(); }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  [[nodiscard]] base::UniqueFd process() const {
    return base::UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  }
  void end() {
    if (pid_ <= 0) return;
    (void)::kill(pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_;
};

TEST(BoxWatch, TellsOfEachEndOnce) {
  Sleeper a;
  Sleeper b;
  std::promise<std::string> first;
  std::promise<std::string> second;
  int calls = 0;
  BoxWatch watch;
  watch.tell([&](const std::string& id) { (++calls == 1 ? first : second).set_value(id); });
  watch.add("a", a.process());
  watch.add("b", b.process());
  watch.add("nobody", base::UniqueFd());
  b.end();
  EXPECT_EQ(first.get_future().get(), "b");
  a.end();
  EXPECT_EQ(second.get_future().get(), "a");
}

TEST(BoxWatch, TheNewBoxOfASessionTakesThePlaceOfTheOld) {
  Sleeper old;
  Sleeper made;
  Sleeper other;
  std::promise<std::string> first;
  std::promise<std::string> second;
  int calls = 0;
  BoxWatch watch;
  watch.tell([&](const std::string& id) { (++calls == 1 ? first : second).set_value(id); });
  watch.add("a", old.process());
  watch.add("a", made.process());
  watch.add("other", other.process());
  old.end();
  other.end();
  EXPECT_EQ(first.get_future().get(), "other");
  made.end();
  EXPECT_EQ(second.get_future().get(), "a");
}

TEST(BoxWatch, NobodyIsToldAnyMore) {
  Sleeper a;
  int calls = 0;
  {
    BoxWatch watch;
    watch.tell([&](const std::string&) { ++calls; });
    watch.add("a", a.process());
    watch.tell({});
    a.end();
  }
  EXPECT_EQ(calls, 0);
}

}  // namespace
