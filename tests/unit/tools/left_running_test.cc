// A note names only the processes of its run that live.
#include "tools/mcp/left_running.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace {

std::string told(const std::string& note, const std::set<pid_t>& living) {
  return tools::without_ended(note, [&living](pid_t pid) { return living.contains(pid); });
}

TEST(LeftRunning, NamesWhatLives) {
  const std::string note =
      "left running by this run: sleep 1 (pid 3), sleep (pid x) (pid 4); "
      "kill PID ends it; more";
  EXPECT_EQ(told(note, {3, 4}), note);
  EXPECT_EQ(told(note, {3}), "left running by this run: sleep 1 (pid 3); kill PID ends it; more");
  EXPECT_EQ(told(note, {4}),
            "left running by this run: sleep (pid x) (pid 4); kill PID ends it; more");
  EXPECT_EQ(told(note, {}), "more");
  EXPECT_EQ(told("before; " + note, {}), "before; more");
  EXPECT_EQ(told("before", {}), "before");
  const std::string printing =
      "left running by this run: sleep 1 (pid 3); kill PID ends it; "
      "get_run of this run has what it prints later";
  EXPECT_EQ(told(printing + "; more", {}), "more");
  EXPECT_EQ(told(printing, {3}), printing);
}

TEST(LeftRunning, KnowsTheWordsOfAllThatTell) {
  const std::string of_python =
      "left running by this run: a (pid 3), b (pid 4) and 2 more; "
      "kill PID (or the object's terminate()) ends it";
  EXPECT_EQ(told(of_python, {4}),
            "left running by this run: b (pid 4) and 2 more; "
            "kill PID (or the object's terminate()) ends it");
  EXPECT_EQ(told(of_python, {}), of_python) << "those that are counted may live";
  const std::string of_many =
      "left running by this run: a (pids 3 5), b (pid 4), and 2 more; "
      "kill with all its PIDs ends one, kill -9 -1 in bash all, "
      "interpreters with their variables too";
  EXPECT_EQ(told(of_many, {3, 4, 5}), of_many);
  EXPECT_EQ(told(of_many, {5}),
            "left running by this run: a (pids 3 5), and 2 more; "
            "kill with all its PIDs ends one, kill -9 -1 in bash all, "
            "interpreters with their variables too");
  EXPECT_EQ(told("x; " + of_many + "; y", {}), "x; " + of_many + "; y");
}

TEST(LeftRunning, LooksAtAllThatTell) {
  const std::string one = "left running by this run: a (pid 3); kill PID ends it";
  const std::string other = "left running by this run: b (pid 4), c (pid 5); kill PID ends it";
  EXPECT_EQ(told(one + "; " + other, {3, 5}),
            one + "; left running by this run: c (pid 5); kill PID ends it");
  EXPECT_EQ(told(one + "; " + other, {4, 5}), other);
  EXPECT_EQ(told(one + "; " + other, {}), "");
}

TEST(LeftRunning, ANoteThatCodeHasMadeIsLookedAtForAWhile) {
  std::string note = "left running by this run: ";
  for (int i = 0; i < 4000; ++i) note += "a (pid " + std::to_string(i) + "), ";
  note += "a (pid 1); kill PID ends it";
  int looks = 0;
  EXPECT_EQ(tools::without_ended(note, [&looks](pid_t) { return ++looks < 0; }), note);
  EXPECT_LE(looks, 100);
}

}  // namespace
