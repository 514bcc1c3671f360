// How a run ended, from what was observed.
#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>

#include <nlohmann/json.hpp>

#include "sandbox/box/ending.h"

namespace {

using namespace sandbox;
using box::Observed;
using nlohmann::json;

constexpr int exited(int code) { return code << 8; }

Run run_of(Language language) {
  Run run;
  run.language = language;
  run.status = RunStatus::kRunning;
  return run;
}

Run by_message(const json& done, const Observed& observed, Language language = Language::kPython) {
  auto run = run_of(language);
  end_by_message(run, done, observed);
  return run;
}

Run by_exit(int status, const Observed& observed, Language language = Language::kPython) {
  auto run = run_of(language);
  end_by_exit(run, status, observed);
  return run;
}

TEST(EndByMessage, Completed) {
  const auto run = by_message({{"ok", true}}, {});
  EXPECT_EQ(run.status, RunStatus::kCompleted);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_FALSE(run.error);
}

TEST(EndByMessage, Exception) {
  const auto run = by_message(
      {{"ok", false}, {"exit_code", 1}, {"error", {{"name", "ValueError"}, {"message", "m"}}}}, {});
  EXPECT_EQ(run.status, RunStatus::kFailed);
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.error->cause, Cause::kException);
  EXPECT_EQ(run.error->name, "ValueError");
  EXPECT_EQ(run.error->survived, "variables kept, files kept");
  EXPECT_EQ(run.error->lost, "");
}

TEST(EndByMessage, AFailureNeverHasExitCodeZero) {
  EXPECT_EQ(by_message({{"ok", false}, {"exit_code", 0}}, {}).exit_code, 1);
  EXPECT_EQ(by_message({{"ok", false}, {"exit_code", 256}}, {}).exit_code, 1);
}

TEST(EndByMessage, SystemExit) {
  const auto run = by_message(
      {{"ok", false}, {"exit_code", 3}, {"error", {{"name", "SystemExit"}, {"message", "3"}}}}, {});
  EXPECT_EQ(run.error->cause, Cause::kExit);
  EXPECT_EQ(run.exit_code, 3);
}

TEST(EndByMessage, InterruptedByUs) {
  for (const auto& [cause, status] : {std::pair{Cause::kTimeout, RunStatus::kTimedOut},
                                      std::pair{Cause::kCancelled, RunStatus::kCancelled},
                                      std::pair{Cause::kDisk, RunStatus::kFailed},
                                      std::pair{Cause::kOutput, RunStatus::kFailed}}) {
    Observed observed;
    observed.stop_cause = cause;
    const auto run =
        by_message({{"ok", false}, {"interrupted", true}, {"exit_code", 130}}, observed);
    EXPECT_EQ(run.status, status);
    EXPECT_EQ(run.error->cause, cause);
    EXPECT_EQ(run.error->survived, "variables kept, files kept");
  }
}

TEST(EndByMessage, WhatCatchesItsTimeoutHasTimedOut) {
  Observed observed;
  observed.stop_cause = Cause::kTimeout;
  const auto run = by_message({{"ok", true}}, observed);
  EXPECT_EQ(run.status, RunStatus::kTimedOut);
  EXPECT_EQ(run.error->cause, Cause::kTimeout);
  EXPECT_EQ(run.error->survived, "variables kept, files kept");
  observed.own_process = true;
  const auto of_bash = by_exit(exited(0), observed, Language::kBash);
  EXPECT_EQ(of_bash.status, RunStatus::kTimedOut);
  EXPECT_EQ(of_bash.error->survived,
            "files kept; working directory and variables as before this run");
}

TEST(EndByMessage, WhatMakesAnExceptionOfItsTimeoutHasTimedOut) {
  Observed observed;
  observed.stop_cause = Cause::kTimeout;
  const json done = {
      {"ok", false},
      {"exit_code", 1},
      {"error", {{"name", "ValueError"}, {"message", "gave up"}, {"traceback", "line 3"}}}};
  const auto run = by_message(done, observed);
  EXPECT_EQ(run.status, RunStatus::kTimedOut);
  EXPECT_EQ(run.error->cause, Cause::kTimeout);
  EXPECT_NE(run.error->message.find("; it ended with ValueError: gave up"), std::string::npos);
  EXPECT_EQ(run.error->traceback, "line 3");
  EXPECT_EQ(run.error->survived, "variables kept, files kept");
  EXPECT_FALSE(run.exit_code.has_value());
}

TEST(EndByExit, ARunThatHadAllItsTimeIsNotToldToAskForMore) {
  Observed observed;
  observed.stop_cause = Cause::kTimeout;
  observed.own_process = true;
  observed.most_seconds = 4;
  const auto said = [&observed](std::int64_t seconds, bool background = false) {
    observed.timeout_seconds = seconds;
    observed.background = background;
    return by_exit(SIGKILL, observed).error->message;
  };
  EXPECT_EQ(said(3),
            "the run took longer than the 3 seconds that it had; give it more (timeout_seconds), "
            "or use background: true");
  EXPECT_EQ(said(3, true),
            "the run took longer than the 3 seconds that it had; give it more, or none: "
            "timeout_seconds is what you choose");
  observed.limits.run_seconds = 4;
  EXPECT_EQ(said(4),
            "the run took longer than the 4 seconds that it had; limits.run_seconds is 4: use "
            "background: true");
  observed.limits.run_seconds = 600;
  EXPECT_EQ(said(4),
            "the run took longer than the 4 seconds that it had; 4 is the most here: use "
            "background: true");
  EXPECT_EQ(said(4, true),
            "the run took longer than the 4 seconds that it had; leave timeout_seconds out: then "
            "it has no end");
  observed.most_seconds = 0;
  EXPECT_NE(said(4).find("give it more (timeout_seconds)"), std::string::npos) << "nobody says";
}

TEST(EndByExit, WhatIsLostIsWhatWasMadeSinceItWasStored) {
  Observed observed;
  EXPECT_EQ(by_exit(SIGSEGV, observed).error->lost,
            "python interpreter restarted: variables and imports lost");
  observed.variables_stored = true;
  EXPECT_EQ(by_exit(SIGSEGV, observed).error->lost,
            "python interpreter restarted: what this run made of variables; the next has those "
            "that were last stored");
  observed.stored_run_id = "run_2";
  EXPECT_EQ(by_exit(SIGSEGV, observed).error->lost,
            "python interpreter restarted: what was made since run_2; the next has what was stored "
            "then");
}

TEST(EndByMessage, WhatEndsWellAllTheSameTellsWhatItHasMet) {
  Observed cancelled;
  cancelled.stop_cause = Cause::kCancelled;
  cancelled.own_process = true;
  for (const sandbox::Run& run :
       {by_message({{"ok", true}}, cancelled), by_exit(exited(0), cancelled)}) {
    EXPECT_EQ(run.status, RunStatus::kCompleted);
    EXPECT_NE(run.note.find("cancelled"), std::string::npos) << run.note;
  }
  Observed observed;
  observed.out_of_memory = true;
  const auto run = by_message({{"ok", true}}, observed);
  EXPECT_EQ(run.status, RunStatus::kCompleted);
  EXPECT_NE(run.note.find("memory_mb"), std::string::npos) << run.note;
}

// A program that has written all of it before it hears of the limit does no better than another.
TEST(EndByMessage, LostOutputIsNoGoodEnd) {
  Observed observed;
  observed.stop_cause = Cause::kOutput;
  observed.own_process = true;
  for (const sandbox::Run& run :
       {by_message({{"ok", true}}, observed), by_exit(exited(0), observed)}) {
    EXPECT_EQ(run.status, RunStatus::kFailed);
    EXPECT_EQ(run.error->cause, Cause::kOutput);
    EXPECT_NE(run.error->message.find("output_mb"), std::string::npos);
    EXPECT_FALSE(run.exit_code.has_value());
  }
}

TEST(EndByExit, BashKeepsWhatItHasWrittenDown) {
  Observed observed;
  observed.stop_cause = Cause::kTimeout;
  observed.own_process = true;
  // However it ended: it may have become another program, which wrote nothing.
  for (const int status : {exited(130), exited(0), SIGINT, SIGKILL}) {
    observed.bash_state_kept = false;
    EXPECT_EQ(by_exit(status, observed, Language::kBash).error->survived,
              "files kept; working directory and variables as before this run");
    observed.bash_state_kept = true;
    EXPECT_EQ(by_exit(status, observed, Language::kBash).error->survived,
              "files kept; working directory and variables kept");
  }
  auto behind = run_of(Language::kBash);
  behind.background = true;
  end_by_exit(behind, exited(130), observed);
  EXPECT_EQ(behind.error->survived, "files kept; the session's interpreters are not affected");
}

TEST(EndByMessage, AnInterruptNobodyHereSentIsASignal) {
  const auto run = by_message({{"ok", false}, {"interrupted", true}}, {});
  EXPECT_EQ(run.error->cause, Cause::kSignal);
}

TEST(EndByMessage, RefusedForksAreTold) {
  Observed observed;
  observed.forks_refused = true;
  EXPECT_EQ(by_message({{"ok", false}}, observed).error->cause, Cause::kException);
  const json done = {{"ok", false},
                     {"error", {{"name", "RuntimeError"}, {"message", "can't start new thread"}}}};
  EXPECT_EQ(by_message(done, observed).error->cause, Cause::kPids);
  // Anybody can say so: counted, and there were none.
  EXPECT_EQ(by_message(done, {}).error->cause, Cause::kException);
  Observed words;
  words.own_process = true;
  words.last_words = "bash: fork: retry: Resource temporarily unavailable\n";
  EXPECT_EQ(by_exit(exited(3), words, Language::kBash).error->cause, Cause::kExit);
}

TEST(EndWithoutStart, SaysWhatCouldNotBeDone) {
  const auto ended = [](base::Error::Kind kind, int os_errno) {
    auto run = run_of(Language::kPython);
    box::end_without_start(run, base::Error{kind, os_errno, "start python: why"});
    EXPECT_EQ(run.status, RunStatus::kFailed);
    EXPECT_EQ(run.error->message, "start python: why");
    return run.error->cause;
  };
  using Kind = base::Error::Kind;
  EXPECT_EQ(ended(Kind::kInternal, EAGAIN), Cause::kPids);
  EXPECT_EQ(ended(Kind::kUnavailable, ETOOMANYREFS), Cause::kInterpreterDied);
  EXPECT_EQ(ended(Kind::kInternal, ENOENT), Cause::kInterpreterDied);
  EXPECT_EQ(ended(Kind::kUnavailable, 0), Cause::kSandboxLost);
  EXPECT_EQ(ended(Kind::kUnavailable, EPIPE), Cause::kSandboxLost);
}

TEST(EndByExit, RefusedForksAreToldInTheLastWords) {
  Observed observed;
  observed.own_process = true;
  observed.forks_refused = true;
  EXPECT_EQ(by_exit(exited(254), observed, Language::kBash).error->cause, Cause::kExit);
  observed.last_words = "bash: fork: retry: Resource temporarily unavailable\n";
  EXPECT_EQ(by_exit(exited(254), observed, Language::kBash).error->cause, Cause::kPids);
  EXPECT_EQ(by_exit(SIGABRT, observed).error->cause, Cause::kPids);
}

TEST(EndByMessage, AFileBeyondTheDiskLimitIsTold) {
  const json done = {{"ok", false},
                     {"error", {{"name", "OSError"}, {"message", "[Errno 27] File too large"}}}};
  EXPECT_EQ(by_message(done, {}).error->cause, Cause::kDisk);
  Observed own;
  own.own_process = true;
  EXPECT_EQ(by_exit(SIGXFSZ, own, Language::kBash).error->cause, Cause::kDisk);
}

TEST(EndByMessage, AFullFileSystemIsTheDisk) {
  for (const char* message :
       {"[Errno 28] No space left on device", "[Errno 122] Disk quota exceeded: 'x'",
        "ENOSPC: no space left on device, write", "EDQUOT: quota exceeded"}) {
    const json done = {{"ok", false}, {"error", {{"name", "OSError"}, {"message", message}}}};
    Observed full;
    full.disk_used_up = true;
    EXPECT_EQ(by_message(done, full).error->cause, Cause::kDisk) << message;
    // /dev/full, a full /dev/shm, or only words.
    EXPECT_EQ(by_message(done, {}).error->cause, Cause::kException) << message;
  }
}

TEST(EndByExit, AProgramThatMeetsTheQuotaEndsForTheDisk) {
  Observed full;
  full.own_process = true;
  full.disk_used_up = true;
  EXPECT_EQ(by_exit(exited(1), full, Language::kBash).error->cause, Cause::kExit);
  full.last_words = "dd: error writing 'x': Disk quota exceeded\n";
  EXPECT_EQ(by_exit(exited(1), full, Language::kBash).error->cause, Cause::kDisk);
  const json done = {
      {"ok", false},
      {"error", {{"name", "OperationalError"}, {"message", "database or disk is full"}}}};
  EXPECT_EQ(by_message(done, full).error->cause, Cause::kDisk);
  EXPECT_EQ(by_message(done, {}).error->cause, Cause::kException);
  const json of_node = {
      {"ok", false}, {"error", {{"name", "Error"}, {"message", "UNKNOWN: unknown error, write"}}}};
  EXPECT_EQ(by_message(of_node, full).error->cause, Cause::kDisk);
  EXPECT_EQ(by_message(of_node, {}).error->cause, Cause::kException);
  EXPECT_EQ(by_exit(0, full, Language::kBash).status, RunStatus::kCompleted);
}

TEST(EndByMessage, HostileTypesAreTamed) {
  const auto run = by_message({{"ok", "yes"}, {"exit_code", "x"}, {"error", 5}, {"note", 1}}, {});
  EXPECT_EQ(run.status, RunStatus::kFailed);
  EXPECT_EQ(run.error->name, "Error");
  const auto huge =
      by_message({{"ok", false}, {"error", {{"message", std::string(10 << 20, 'x')}}}}, {});
  EXPECT_LE(huge.error->message.size(), 20'000U);
}

TEST(EndByExit, ProcessOfItsOwn) {
  Observed own;
  own.own_process = true;
  EXPECT_EQ(by_exit(exited(0), own, Language::kBash).status, RunStatus::kCompleted);
  const auto four = by_exit(exited(4), own, Language::kBash);
  EXPECT_EQ(four.status, RunStatus::kFailed);
  EXPECT_EQ(four.exit_code, 4);
  EXPECT_EQ(four.error->cause, Cause::kExit);
}

TEST(EndByExit, AnInterpreterThatEndsIsNeverASuccess) {
  const auto run = by_exit(exited(0), {});
  EXPECT_EQ(run.status, RunStatus::kFailed);
  EXPECT_EQ(run.error->cause, Cause::kExit);
  EXPECT_NE(run.error->lost.find("variables"), std::string::npos);
}

TEST(EndByExit, Signals) {
  const auto crash = by_exit(SIGSEGV, {});
  EXPECT_EQ(crash.error->cause, Cause::kSignal);
  EXPECT_EQ(crash.error->name, "SIGSEGV");
  EXPECT_EQ(crash.exit_code, 128 + SIGSEGV);
  EXPECT_EQ(by_exit(SIGKILL, {}).error->cause, Cause::kInterpreterDied);
  Observed own;
  own.own_process = true;
  EXPECT_EQ(by_exit(SIGKILL, own, Language::kBash).error->cause, Cause::kSignal);
}

TEST(EndByExit, OutOfMemory) {
  Observed observed;
  observed.out_of_memory = true;
  EXPECT_EQ(by_exit(SIGKILL, observed).error->cause, Cause::kOom);
  observed.memory_peak_bytes = 300 << 20;
  EXPECT_NE(by_exit(SIGKILL, observed).error->message.find("300 MB"), std::string::npos);
  // The kernel killed something else of the session, and this one ended by itself.
  EXPECT_EQ(by_exit(exited(2), observed).error->cause, Cause::kExit);
}

TEST(EndByExit, TablesOutliveTheirEngine) {
  Observed observed;
  observed.out_of_memory = true;
  observed.limits.memory_mb = 300;
  observed.kept_elsewhere = ", variables of Python kept";
  const auto run = by_exit(SIGKILL, observed, Language::kSql);
  EXPECT_EQ(run.error->cause, Cause::kOom);
  EXPECT_NE(run.error->message.find("300 MB of memory (limits.memory_mb)"), std::string::npos);
  EXPECT_EQ(run.error->survived, "files kept, variables of Python kept, tables of SQL kept");
  EXPECT_EQ(run.error->lost.find("variables"), std::string::npos) << run.error->lost;
  EXPECT_NE(run.error->lost.find("temporary tables"), std::string::npos) << run.error->lost;
  EXPECT_EQ(by_message({{"ok", false}}, {}, Language::kSql).error->survived,
            "tables kept, files kept");
}

TEST(EndByExit, WhoHasAProcessOfItsOwnHearsOfTheTablesToo) {
  Observed observed;
  observed.own_process = true;
  observed.out_of_memory = true;
  observed.bash_state_kept = true;
  observed.kept_elsewhere = ", tables of SQL kept";
  for (const int status : {exited(137), static_cast<int>(SIGKILL)}) {
    const auto bash = by_exit(status, observed, Language::kBash);
    EXPECT_EQ(bash.error->cause, Cause::kOom);
    EXPECT_EQ(bash.error->survived,
              "files kept, tables of SQL kept; working directory and variables kept");
  }
  auto behind = run_of(Language::kPython);
  behind.background = true;
  end_by_exit(behind, SIGKILL, observed);
  EXPECT_EQ(behind.error->survived,
            "files kept, tables of SQL kept; the session's interpreters are not affected");
  observed.out_of_memory = false;
  EXPECT_EQ(by_exit(exited(1), observed, Language::kBash).error->survived,
            "files kept; working directory and variables kept");
}

// A child was killed, and who had started it made something else of that.
TEST(EndByExit, AChildThatWasKilledForMemoryIsTold) {
  Observed observed;
  observed.out_of_memory = true;
  const json done = {{"ok", false}, {"error", {{"name", "ValueError"}, {"message", "no result"}}}};
  for (const sandbox::Run& run : {by_message(done, observed), by_exit(exited(3), observed)}) {
    EXPECT_NE(run.note.find("limits.memory_mb"), std::string::npos) << run.note;
    EXPECT_EQ(run.error->message.find("limits.memory_mb"), std::string::npos);
  }
  observed.stop_cause = Cause::kTimeout;
  EXPECT_NE(by_exit(SIGKILL, observed).note.find("limits.memory_mb"), std::string::npos);
  observed.stop_cause = Cause::kOom;
  const auto stopped = by_exit(SIGKILL, observed);
  EXPECT_NE(stopped.error->message.find("limits.memory_mb"), std::string::npos);
  EXPECT_EQ(stopped.note, "");
}

TEST(EndByExit, AFullHeapOfJavaScriptNamesTheLimit) {
  Observed observed;
  observed.limits.memory_mb = 600;
  EXPECT_EQ(by_exit(SIGABRT, observed, Language::kJavaScript).error->name, "SIGABRT");
  observed.last_words =
      "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of "
      "memory\n 1: 0xb8d0a3 node::OOMErrorHandler\n";
  const auto cell = by_exit(SIGABRT, observed, Language::kJavaScript);
  EXPECT_EQ(cell.error->cause, Cause::kOom);
  EXPECT_NE(cell.error->message.find("600 MB of memory (limits.memory_mb)"), std::string::npos);
  observed.own_process = true;
  EXPECT_EQ(by_exit(exited(134), observed, Language::kBash).error->cause, Cause::kOom);
  // Words alone are no limit.
  EXPECT_EQ(by_exit(exited(3), observed, Language::kBash).error->cause, Cause::kExit);
}

TEST(EndByExit, StoppedByUs) {
  Observed observed;
  observed.stop_cause = Cause::kTimeout;
  const auto run = by_exit(SIGKILL, observed, Language::kJavaScript);
  EXPECT_EQ(run.status, RunStatus::kTimedOut);
  EXPECT_NE(run.error->lost.find("javascript interpreter restarted"), std::string::npos);
}

TEST(EndByExit, TheOneLimitOfTheDiskIsNamed) {
  const auto message = [](box::DiskLimit limit) {
    Observed observed;
    observed.stop_cause = Cause::kDisk;
    observed.disk_limit = limit;
    return by_exit(SIGKILL, observed, Language::kBash).error->message;
  };
  const auto names = [&](box::DiskLimit limit, const char* words) {
    return message(limit).find(words) != std::string::npos;
  };
  using box::DiskLimit;
  for (const DiskLimit limit : {DiskLimit::kBytes, DiskLimit::kFiles, DiskLimit::kBytesAndFiles}) {
    EXPECT_EQ(names(limit, "limits.disk_mb"), limit != DiskLimit::kFiles);
    EXPECT_EQ(names(limit, "limits.files"), limit != DiskLimit::kBytes);
    EXPECT_FALSE(names(limit, "host"));
  }
  EXPECT_TRUE(names(DiskLimit::kRoomOfHost, "host"));
  EXPECT_FALSE(names(DiskLimit::kRoomOfHost, "limits."));
  EXPECT_TRUE(names(DiskLimit::kNotCounted, "could not be counted"));
}

TEST(EndWithoutProcess, KeepsTheCause) {
  auto run = run_of(Language::kPython);
  box::end_without_process(run, Cause::kSandboxLost, "why");
  EXPECT_EQ(run.status, RunStatus::kFailed);
  EXPECT_EQ(run.error->message, "why");
  box::end_without_process(run, Cause::kCancelled, "why");
  EXPECT_EQ(run.status, RunStatus::kCancelled);
}

}  // namespace
