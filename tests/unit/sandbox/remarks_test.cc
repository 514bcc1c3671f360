// Tests what a run's note says of limits that its code met in other words.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "sandbox/box/remarks.h"

namespace {

using sandbox::Cause;
using Record = sandbox::Run;

sandbox::BoxSpec closed() {
  sandbox::BoxSpec session;
  session.session_id = "session-1";
  return session;
}

sandbox::BoxSpec open() {
  sandbox::BoxSpec session;
  session.network.push_back(sandbox::parse_network_rule("up.test").value());
  return session;
}

bool says(const Record& run, const std::string& words) {
  return run.note.find(words) != std::string::npos;
}

TEST(Remarks, NothingIsAddedToWhatNeedsNone) {
  Record run;
  run.error = sandbox::RunError{"ValueError", "bad", "Traceback", Cause::kException, "", ""};
  sandbox::box::add_remarks(run, closed(), {}, "out", "err");
  EXPECT_EQ(run.note, "");
}

TEST(Remarks, NoNetworkIsNamedWhereverItIsMet) {
  Record raised;
  raised.note = "earlier";
  raised.error = sandbox::RunError{
      "gaierror", "[Errno -3] Temporary failure in name resolution", "", Cause::kException, "", ""};
  sandbox::box::add_remarks(raised, closed(), {}, "", "");
  EXPECT_TRUE(raised.lacks_network);
  EXPECT_EQ(raised.note, "earlier") << "whoever shows it words that";
  Record program;
  sandbox::box::add_remarks(program, closed(), {}, "",
                            "curl: (6) Could not resolve host: example.com\n");
  EXPECT_TRUE(program.lacks_network);
  Record script;
  sandbox::box::add_remarks(script, closed(), {}, "Error: getaddrinfo EAI_AGAIN example.com", "");
  EXPECT_TRUE(script.lacks_network);
  Record pip;
  sandbox::box::add_remarks(
      pip, closed(), {}, "ERROR: Could not find a version that satisfies x (from versions: none)\n",
      "");
  EXPECT_TRUE(pip.lacks_network);
  Record granted;
  sandbox::box::add_remarks(granted, open(), {}, "", "curl: (6) Could not resolve host: a.test\n");
  EXPECT_FALSE(granted.lacks_network);
}

TEST(Remarks, WhatARunThatEndedWellHasPrintedIsNoRefusal) {
  Record run;
  run.status = sandbox::RunStatus::kCompleted;
  run.exit_code = 0;
  const std::string log = "12:00 curl: (6) Could not resolve host: db, then ECONNREFUSED\n";
  sandbox::box::add_remarks(run, closed(), {}, log, "413 File too large\n");
  sandbox::box::add_remarks(run, open(), {}, log, "");
  EXPECT_EQ(run.note, "") << "cat app.log";
  EXPECT_FALSE(run.lacks_network) << "cat app.log";
  sandbox::box::add_remarks(run, closed(), {}, "", "curl: (6) Could not resolve host: db\n");
  EXPECT_TRUE(run.lacks_network) << "what came after it ended well";
}

TEST(Remarks, WhatANetworkByNameLeavesOutIsNamed) {
  Record by_address;
  sandbox::box::add_remarks(by_address, open(), {}, "", "curl: (7) Network is unreachable");
  EXPECT_TRUE(says(by_address, "by their names"));
  Record port;
  sandbox::box::add_remarks(port, open(), {}, "",
                            "curl: (7) Failed to connect to up.test port 8080 after 0 ms: "
                            "Couldn't connect to server");
  EXPECT_TRUE(says(port, "--allow HOST:PORT"));
  Record own;
  sandbox::box::add_remarks(own, open(), {}, "", "connect ECONNREFUSED 127.0.0.1:5432");
  EXPECT_EQ(own.note, "");
}

TEST(Remarks, ABackgroundRunHasNoVariablesOfTheSession) {
  Record run;
  run.error =
      sandbox::RunError{"NameError", "name 'df' is not defined", "", Cause::kException, "", ""};
  sandbox::box::add_remarks(run, closed(), {}, "", "");
  EXPECT_EQ(run.note, "");
  run.background = true;
  sandbox::box::add_remarks(run, closed(), {}, "", "");
  EXPECT_TRUE(says(run, "not its variables"));
}

TEST(Remarks, TheLimitOfProcessesIsNamed) {
  Record run;
  run.error = sandbox::RunError{"BlockingIOError", "[Errno 11]", "", Cause::kPids, "", ""};
  sandbox::box::add_remarks(run, closed(), {}, "", "");
  EXPECT_TRUE(says(run, "limits.processes"));
  EXPECT_EQ(run.short_of, std::vector<std::string>{"processes"});
}

TEST(Remarks, WhoeverFilledTheProcessTableIsNamed) {
  Record run;
  run.error = sandbox::RunError{"BlockingIOError", "[Errno 11] fork", "", Cause::kPids, "", ""};
  run.note = sandbox::box::note_of_left_processes(closed().limits);
  EXPECT_TRUE(says(run, "earlier runs") && says(run, "limits.processes"));
  Record told = run;
  sandbox::box::add_remarks(told, closed(), {.left_filled_table = true}, "", "");
  EXPECT_FALSE(says(told, "start fewer"));
  EXPECT_TRUE(told.short_of.empty());
  sandbox::box::add_remarks(run, closed(), {}, "", "");
  EXPECT_TRUE(says(run, "start fewer")) << "words of a note decide nothing";
}

TEST(Remarks, MemoryThatWasRefusedNamesTheLimit) {
  sandbox::BoxSpec session = closed();
  session.limits.memory_mb = 300;
  const auto note_of = [&session](const std::string& name, const std::string& message,
                                  const std::string& errors) {
    Record run;
    if (!name.empty()) run.error = sandbox::RunError{name, message, "", Cause::kException, "", ""};
    sandbox::box::add_remarks(run, session, {}, "", errors);
    EXPECT_EQ(run.short_of.empty(), run.note.empty());
    return run.note;
  };
  for (const std::string& note :
       {note_of("MemoryError", "", ""),
        note_of("numpy._core._exceptions._ArrayMemoryError", "", ""),
        note_of("RangeError", "Array buffer allocation failed", ""),
        note_of("OSError", "[Errno 12] Cannot allocate memory", ""),
        note_of("ExitStatus", "exited with status 1", "Traceback:\nMemoryError\n"),
        note_of("", "", "numpy._ArrayMemoryError: Unable to allocate 3.00 GiB\n"),
        note_of("", "", "terminate called after throwing an instance of 'std::bad_alloc'\n"),
        note_of("", "", "sort: memory exhausted\n")}) {
    EXPECT_NE(note.find("300 MB of memory"), std::string::npos) << note;
    EXPECT_NE(note.find("limits.memory_mb"), std::string::npos) << note;
  }
  EXPECT_EQ(note_of("", "", "12:00 the MemoryError of yesterday\n"), "");
  EXPECT_EQ(note_of("MyMemoryErrors", "", "no MemoryErrors: all well\n"), "");
}

TEST(Remarks, AFullHeapOfJavaScriptSaysWhatToDo) {
  Record run;
  run.error = sandbox::RunError{
      "Error", "Worker terminated due to reaching memory limit: JS heap out of memory",
      "",      Cause::kException,
      "",      ""};
  sandbox::box::add_remarks(run, closed(), {}, "", "");
  EXPECT_TRUE(says(run, "limits.memory_mb") && says(run, "--max-old-space-size"));
  Record went_on;
  sandbox::box::add_remarks(went_on, closed(), {}, "",
                            "FATAL ERROR: Allocation failed - JavaScript heap out of memory\n");
  EXPECT_TRUE(says(went_on, "--max-old-space-size"));
}

TEST(Remarks, SanitizersThatGetNoShadowAreToldSo) {
  Record run;
  sandbox::box::add_remarks(run, closed(), {}, "",
                            "==13==ERROR: AddressSanitizer failed to allocate 0xdfff0001000 "
                            "(15392894357504) bytes at address 2008fff7000 (errno: 12)\n");
  EXPECT_TRUE(says(run, "-fsanitize=undefined"));
}

TEST(Remarks, DuckdbsPartOfTheMemoryIsNamed) {
  Record run;
  run.language = sandbox::Language::kSql;
  run.error = sandbox::RunError{"duckdb.OutOfMemoryException",
                                "Out of Memory Error: 1.0/1.0 GiB",
                                "",
                                Cause::kException,
                                "",
                                ""};
  sandbox::box::add_remarks(run, closed(), {}, "", "");
  EXPECT_TRUE(says(run, "limits.memory_mb") && says(run, "SET memory_limit"));
  Record spilled = run;
  spilled.note.clear();
  spilled.error->message += "This limit was set by the 'max_temp_directory_size' setting.";
  sandbox::box::add_remarks(spilled, closed(), {}, "", "");
  EXPECT_FALSE(says(spilled, "SET memory_limit"));
}

TEST(Remarks, TheLimitOfTheDiskIsNamedWithItsValue) {
  sandbox::BoxSpec session;
  session.limits.disk_mb = 64;
  Record refused;
  refused.error =
      sandbox::RunError{"OSError", "[Errno 27] File too large", "", Cause::kDisk, "", ""};
  sandbox::box::add_remarks(refused, session, {}, "", "");
  EXPECT_TRUE(says(refused, "64 MB") && says(refused, "limits.disk_mb"));
  for (const char* words :
       {"dd: File size limit exceeded\n", "bash: line 2: echo: write error: File too large\n",
        "OSError: [Errno 27] File too large: 'x'\n", "dd: error writing 'f': File too large"}) {
    Record program;
    sandbox::box::add_remarks(program, session, {}, "", words);
    EXPECT_TRUE(says(program, "limits.disk_mb")) << words;
  }
  for (const char* words : {"bash: line 1:     5 File size limit exceededdd if=/dev/zero of=big2\n",
                            "File size limit exceeded\n", "OSError: [Errno 27] File too large\n",
                            "Error: EFBIG: file too large, write\n"}) {
    Record went_on;
    went_on.status = sandbox::RunStatus::kCompleted;
    went_on.exit_code = 0;
    sandbox::box::add_remarks(went_on, session, {}, "", words);
    EXPECT_TRUE(says(went_on, "limits.disk_mb")) << words;
  }
  Record refused_above;
  refused_above.status = sandbox::RunStatus::kCompleted;
  refused_above.exit_code = 0;
  sandbox::box::add_remarks(refused_above, session, {}, "", "upload: File size limit exceeded\n");
  EXPECT_EQ(refused_above.note, "");
  Record silent;
  silent.status = sandbox::RunStatus::kFailed;
  silent.exit_code = 153;
  sandbox::box::add_remarks(silent, session, {}, "", "");
  EXPECT_TRUE(says(silent, "limits.disk_mb"));
  for (const char* words : {"413 File too large\n", "HTTP 413: File too large\n",
                            "upload: File too large. At most 10 MB\n"}) {
    Record refused_elsewhere;
    sandbox::box::add_remarks(refused_elsewhere, session, {}, "", words);
    EXPECT_EQ(refused_elsewhere.note, "") << words;
  }
}

TEST(Remarks, OfTheLimitsOfTheDiskTheOneIsNamedThatWasReached) {
  using sandbox::box::DiskLimit;
  sandbox::BoxSpec session;
  session.limits.files = 2000;
  const auto noted = [&](std::optional<DiskLimit> limit, const char* message) {
    Record run;
    run.error = sandbox::RunError{"OSError", message, "", Cause::kDisk, "", ""};
    sandbox::box::add_remarks(run, session, {.disk_limit = limit}, "", "");
    return run;
  };
  using LimitNames = std::vector<std::string>;
  const Record files = noted(DiskLimit::kFiles, "");
  EXPECT_TRUE(says(files, "2000 files") && !says(files, "disk_mb")) << files.note;
  EXPECT_EQ(files.short_of, LimitNames{"files"});
  const Record bytes = noted(DiskLimit::kBytes, "the limit of 2000 files (limits.files)");
  EXPECT_TRUE(says(bytes, "limits.disk_mb") && !says(bytes, "limits.files")) << bytes.note;
  EXPECT_EQ(bytes.short_of, LimitNames{"disk_mb"});
  EXPECT_EQ(noted(DiskLimit::kRoomOfHost, "").note, "");
  EXPECT_TRUE(noted(DiskLimit::kRoomOfHost, "").short_of.empty()) << "no session has more of that";
  for (const Record& either :
       {noted(DiskLimit::kBytesAndFiles, ""), noted(DiskLimit::kNotCounted, ""),
        noted({}, "[Errno 122] Disk quota exceeded")}) {
    EXPECT_TRUE(says(either, "limits.disk_mb") && says(either, "limits.files")) << either.note;
    EXPECT_EQ(either.short_of, (LimitNames{"disk_mb", "files"}));
  }
  EXPECT_EQ(noted({}, "[Errno 27] File too large").short_of, LimitNames{"disk_mb"});
}

}  // namespace
