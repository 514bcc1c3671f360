// The parts of hutch-box that need no namespace: loop, streams, file changes, records.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "sandbox/box/event_loop.h"
#include "sandbox/box/file_changes.h"
#include "sandbox/box/job.h"
#include "sandbox/box/machine_view.h"
#include "sandbox/box/memory_view.h"
#include "sandbox/box/plan.h"
#include "sandbox/box/profiles.h"
#include "sandbox/box/stream_file.h"
#include "sandbox/box/stream_reader.h"
#include "sandbox/box/telemetry_hosts.h"
#include "sandbox/wire/plan_format.h"
#include "tests/support/source_directory.h"
#include "tests/support/temporary_directory.h"

namespace {

using namespace sandbox;
using namespace sandbox::box;
using std::chrono::milliseconds;
namespace fs = std::filesystem;

TEST(EventLoop, TimersRunInOrderOfTheirTime) {
  const auto loop = EventLoop::create().value();
  std::string order;
  loop->after(milliseconds(20), [&] {
    order += "b";
    loop->stop();
  });
  loop->after(milliseconds(1), [&] { order += "a"; });
  auto cancelled = loop->after(milliseconds(2), [&] { order += "x"; });
  loop->cancel(cancelled);
  EXPECT_EQ(cancelled, 0U);
  ASSERT_TRUE(loop->run().ok());
  EXPECT_EQ(order, "ab");
}

// A root whose /proc/meminfo is a file, as add_machine_view() makes one.
struct RootWithMeminfo {
  explicit RootWithMeminfo(const Limits& limits) {
    fs::create_directory(folder.path() + "/proc");
    folder.write("proc/meminfo", meminfo_of(memory_of_session(limits), 0, 0));
  }
  [[nodiscard]] std::string text() const { return folder.read("proc/meminfo"); }

  TemporaryDirectory folder;
};

TEST(MemoryView, IsWrittenOnceASecondAtMost) {
  Limits limits;
  limits.memory_mb = 100;
  const RootWithMeminfo root(limits);
  const std::string before = root.text();
  MemoryView view(root.folder.fd(), limits);
  const MemoryView::Clock::time_point start = MemoryView::Clock::now();
  ASSERT_TRUE(view.is_due(start)) << "the first run shows what is used";
  int written = 0;
  for (int ms = 0; ms <= 10'000; ms += 50) {
    const auto now = start + milliseconds(ms);
    if (!view.is_due(now)) continue;
    view.show(std::int64_t{1 + written} << 20, 0, now);
    EXPECT_EQ(root.text(),
              meminfo_of(memory_of_session(limits), std::int64_t{1 + written} << 20, 0));
    EXPECT_EQ(root.text().size(), before.size()) << "whoever reads it meanwhile finds whole lines";
    ++written;
  }
  EXPECT_EQ(written, 11);
  EXPECT_NE(root.text(), before);
}

TEST(MemoryView, TellsWhatIsFreeAndWhatCanBeHadBack) {
  Limits limits;
  limits.memory_mb = 100;
  const RootWithMeminfo root(limits);
  MemoryView view(root.folder.fd(), limits);
  view.show(std::int64_t{60} << 20, std::int64_t{20} << 20);
  const std::string text = root.text();
  EXPECT_NE(text.find("MemTotal:"), std::string::npos);
  for (const auto& [name, megabytes] : {std::pair{"MemFree:", 40}, {"MemAvailable:", 60}}) {
    const std::size_t at = text.find(name);
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_EQ(std::stoll(text.substr(at + std::string_view(name).size())), megabytes * 1024LL);
  }
  EXPECT_EQ(fs::status(root.folder.path() + "/proc/meminfo").permissions() & fs::perms::mask,
            fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
}

TEST(MemoryView, TheKernelsOwnIsLeftAlone) {
  const base::UniqueFd root(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const MemoryView view(root.get(), Limits());
  EXPECT_FALSE(view.is_due());
}

TEST(EventLoop, AHandlerMayForgetItselfAndOthers) {
  const auto loop = EventLoop::create().value();
  base::Pipe first = base::make_pipe().value();
  base::Pipe second = base::make_pipe().value();
  int calls = 0;
  const auto handler = [&](std::uint32_t) {
    ++calls;
    loop->forget(first.read_end.get());
    loop->forget(second.read_end.get());
    loop->after(milliseconds(0), [&] { loop->stop(); });
  };
  ASSERT_TRUE(loop->watch(first.read_end.get(), EPOLLIN, handler).ok());
  ASSERT_TRUE(loop->watch(second.read_end.get(), EPOLLIN, handler).ok());
  ASSERT_TRUE(base::write_all(first.write_end.get(), "x").ok());
  ASSERT_TRUE(base::write_all(second.write_end.get(), "x").ok());
  ASSERT_TRUE(loop->run().ok());
  EXPECT_EQ(calls, 1);
}

TEST(StreamFile, KeepsUpToItsCap) {
  const TemporaryDirectory directory;
  const auto stream = StreamFile::create(directory.fd(), "stdout", 10).value();
  stream->append("12345678");
  EXPECT_FALSE(stream->over_limit());
  stream->append("9abc");
  EXPECT_TRUE(stream->over_limit());
  EXPECT_FALSE(stream->no_room());
  stream->append("more");
  EXPECT_EQ(stream->bytes(), 10);
  EXPECT_EQ(directory.read("stdout"), "123456789a");
}

TEST(StreamFile, NeverReplacesAFile) {
  const TemporaryDirectory directory;
  directory.write("stdout", "old");
  const auto stream = StreamFile::create(directory.fd(), "stdout", 10).value();
  stream->append("new");
  EXPECT_TRUE(stream->over_limit());
  EXPECT_TRUE(stream->no_room());
  EXPECT_EQ(stream->bytes(), 0);
  EXPECT_EQ(directory.read("stdout"), "old");
}

TEST(StreamFile, KeepsWhatCameLastOfATerminal) {
  const TemporaryDirectory directory;
  constexpr std::int64_t kMost = 1 << 20;
  const auto stream =
      StreamFile::create(directory.fd(), "stdout", kMost, StreamFile::Keep::kLast).value();
  const std::string piece(64 << 10, 'x');
  for (int i = 0; i < 80; ++i) stream->append(piece);
  stream->append("the end");
  EXPECT_FALSE(stream->over_limit());
  EXPECT_EQ(stream->bytes(), 80 * (64 << 10) + 7);
  const std::string content = directory.read("stdout");
  EXPECT_TRUE(content.ends_with("xxxthe end"));
  struct stat status {};
  ASSERT_EQ(::fstatat(directory.fd(), "stdout", &status, 0), 0);
  EXPECT_LE(status.st_blocks * 512, kMost + (64 << 10));
}

TEST(StreamFile, IsMadeWithItsFirstByte) {
  const TemporaryDirectory directory;
  const auto stream = StreamFile::create(directory.fd(), "stdout", 10).value();
  EXPECT_NE(::faccessat(directory.fd(), "stdout", F_OK, 0), 0);
  stream->append("a");
  EXPECT_EQ(directory.read("stdout"), "a");
}

TEST(StreamReader, LateOutputStaysWithItsRun) {
  const TemporaryDirectory directory;
  const auto loop = EventLoop::create().value();
  base::Pipe pipe = base::make_pipe().value();
  const auto first = StreamFile::create(directory.fd(), "first", 100).value();
  const auto second = StreamFile::create(directory.fd(), "second", 100).value();
  const auto reader =
      StreamReader::start(*loop, std::move(pipe.read_end), StreamReader::Runs::kMany).value();
  int told = 0;
  reader->set_target(first, [&] { ++told; });
  ASSERT_TRUE(base::write_all(pipe.write_end.get(), "one").ok());
  reader->drain();
  reader->stop_telling();
  ASSERT_TRUE(base::write_all(pipe.write_end.get(), " late").ok());
  reader->drain();
  reader->set_target(second, {});
  ASSERT_TRUE(base::write_all(pipe.write_end.get(), "two").ok());
  pipe.write_end.reset();
  reader->drain();
  EXPECT_EQ(directory.read("first"), "one late");
  EXPECT_EQ(directory.read("second"), "two");
  EXPECT_EQ(told, 1);
}

TEST(StreamReader, ThePipeOfLaterRunsIsNotClosedByWhatNobodyKeeps) {
  for (const auto runs : {StreamReader::Runs::kOne, StreamReader::Runs::kMany}) {
    const TemporaryDirectory directory;
    const auto loop = EventLoop::create().value();
    base::Pipe pipe = base::make_pipe().value();
    const auto reader = StreamReader::start(*loop, std::move(pipe.read_end), runs).value();
    reader->set_target(StreamFile::create(directory.fd(), "first", 3).value(), {});
    ASSERT_TRUE(base::write_all(pipe.write_end.get(), "too much").ok());
    reader->drain();
    pollfd writer{pipe.write_end.get(), 0, 0};
    ASSERT_GE(::poll(&writer, 1, 0), 0);
    EXPECT_EQ((writer.revents & POLLERR) != 0, runs == StreamReader::Runs::kOne);
    if (runs == StreamReader::Runs::kOne) continue;
    reader->set_target(StreamFile::create(directory.fd(), "second", 100).value(), {});
    ASSERT_TRUE(base::write_all(pipe.write_end.get(), "heard").ok());
    reader->drain();
    EXPECT_EQ(directory.read("second"), "heard");
  }
}

TEST(FileChanges, CreatedModifiedDeleted) {
  const TemporaryDirectory directory;
  directory.write("kept", "1");
  directory.write("changed", "1");
  directory.write("gone", "1");
  FileChanges changes(directory.fd(), 1000);
  const auto before_all = changes.take_snapshot();
  // File times tick coarsely: wait for the tick, the condition itself, not a guessed time.
  const auto tick = FileChanges::file_time_ns();
  while (FileChanges::file_time_ns() == tick) {
  }
  const auto since = FileChanges::file_time_ns();
  directory.write("changed", "22");
  directory.write("new", "333");
  fs::create_directories(directory.path() + "/a/b");
  directory.write("a/b/deep", "4444");
  fs::remove(directory.path() + "/gone");
  std::size_t total = 0;
  const auto found = changes.changes_since(before_all, since, {}, total);
  ASSERT_EQ(total, 4U);
  EXPECT_EQ(found[0].path + " " + found[0].change, "/workspace/a/b/deep created");
  EXPECT_EQ(found[1].path + " " + found[1].change, "/workspace/changed modified");
  EXPECT_EQ(found[2].path + " " + found[2].change, "/workspace/gone deleted");
  EXPECT_EQ(found[3].path + " " + found[3].change, "/workspace/new created");
  EXPECT_EQ(found[3].bytes, 3);
  const auto later = FileChanges::file_time_ns() + 1;
  EXPECT_TRUE(changes.changes_since(changes.last_seen(), later, {}, total).empty());
}

TEST(FileChanges, AnotherSizeIsAChangeWithinOneTickToo) {
  const TemporaryDirectory directory;
  directory.write("log", "one");
  FileChanges changes(directory.fd(), 1000);
  // As it was seen at the same tick of the clock, before the last byte came.
  auto tree = *changes.take_snapshot();
  tree.entries.at("/workspace/log").bytes = 2;
  std::size_t total = 0;
  const auto found =
      changes.changes_since(std::make_shared<const FileChanges::Tree>(tree), 0, {}, total);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].change, "modified");
}

TEST(FileChanges, WhatCannotBeSeenIsNotDeleted) {
  const TemporaryDirectory directory;
  for (const char* name : {"a", "b", "c"}) directory.write(name, "1");
  FileChanges all(directory.fd(), 1000);
  const auto before = all.take_snapshot();
  fs::remove(directory.path() + "/b");
  FileChanges few(directory.fd(), 1);  // stops looking after the first
  std::size_t total = 0;
  const auto found = few.changes_since(before, FileChanges::file_time_ns() + 1, {}, total);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].path + " " + found[0].change, "/workspace/b deleted");
}

TEST(FileChanges, EachRunHasASnapshotOfItsOwn) {
  const TemporaryDirectory directory;
  FileChanges changes(directory.fd(), 1000);
  const auto before_first = changes.take_snapshot();
  directory.write("made", "1");
  const auto before_second = changes.take_snapshot();
  fs::remove(directory.path() + "/made");
  directory.write("last", "1");
  std::size_t total = 0;
  const auto of_second = changes.changes_since(before_second, 0, {}, total);
  ASSERT_EQ(total, 2U);
  EXPECT_EQ(of_second[0].path + " " + of_second[0].change, "/workspace/last created");
  EXPECT_EQ(of_second[1].path + " " + of_second[1].change, "/workspace/made deleted");
  const auto of_first = changes.changes_since(before_first, 0, {}, total);
  ASSERT_EQ(total, 1U);
  EXPECT_EQ(of_first[0].path + " " + of_first[0].change, "/workspace/last created");
}

TEST(FileChanges, FewSnapshotsAreHeld) {
  const TemporaryDirectory directory;
  FileChanges changes(directory.fd(), 1000);
  std::vector<FileChanges::Snapshot> held;
  for (std::size_t i = 0; i < kSnapshotsMax; ++i) held.push_back(changes.take_snapshot());
  EXPECT_EQ(changes.take_snapshot(), held.back());
  held.erase(held.begin());
  EXPECT_NE(changes.take_snapshot(), held.back());
}

TEST(FileChanges, LinksAreNotFollowed) {
  const TemporaryDirectory outside;
  outside.write("secret", "x");
  const TemporaryDirectory directory;
  FileChanges changes(directory.fd(), 1000);
  const auto before = changes.take_snapshot();
  fs::create_directory_symlink(outside.path(), directory.path() + "/link");
  std::size_t total = 0;
  const auto found = changes.changes_since(before, 0, {}, total);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].path, "/workspace/link");
}

TEST(FileChanges, TheListIsBoundedTheCountIsNot) {
  const TemporaryDirectory directory;
  FileChanges changes(directory.fd(), 100'000);
  const auto before = changes.take_snapshot();
  for (std::size_t i = 0; i < kChangesMax + 50; ++i) directory.write("f" + std::to_string(i), "");
  std::size_t total = 0;
  EXPECT_EQ(changes.changes_since(before, 0, {}, total).size(), kChangesMax);
  EXPECT_EQ(total, kChangesMax + 50);
}

Job job_in(const TemporaryDirectory& directory) {
  Job job;
  job.request.run_id = job.run.run_id = "run_" + std::string(32, '0');
  EXPECT_TRUE(open_job_files(job, directory.fd(), 1000).ok());
  return job;
}

TEST(Job, ARunIdIsUsedOnce) {
  const TemporaryDirectory directory;
  const Job first = job_in(directory);
  Job second;
  second.request.run_id = first.request.run_id;
  const auto status = open_job_files(second, directory.fd(), 1000);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, base::Error::Kind::kConflict);
}

TEST(Job, ADirectoryMadeAheadIsTakenByTheNextRunOnly) {
  const TemporaryDirectory directory;
  prepare_job_files(directory.fd());
  const Job first = job_in(directory);
  EXPECT_EQ(::faccessat(first.directory.get(), "record.json.new", F_OK, 0), 0);
  // A used id stays used, whatever is ready for the next run.
  prepare_job_files(directory.fd());
  Job again;
  again.request.run_id = first.request.run_id;
  EXPECT_FALSE(open_job_files(again, directory.fd(), 1000).ok());
  Job second;
  second.request.run_id = "run_" + std::string(32, '1');
  EXPECT_TRUE(open_job_files(second, directory.fd(), 1000).ok());
  EXPECT_TRUE(write_record(second).ok());
  EXPECT_EQ(::faccessat(second.directory.get(), "record.json", F_OK, 0), 0);
  EXPECT_NE(::faccessat(second.directory.get(), "record.json.new", F_OK, 0), 0);
}

TEST(Job, TheRecordIsWhole) {
  const TemporaryDirectory directory;
  Job job = job_in(directory);
  job.run.status = RunStatus::kCompleted;
  ASSERT_TRUE(write_record(job).ok());
  const auto value = base::parse_json(directory.read(job.run.run_id + "/record.json"));
  ASSERT_TRUE(value.ok());
  EXPECT_TRUE(run_from_json(value.value()).ok());
  EXPECT_FALSE(fs::exists(directory.path() + "/" + job.run.run_id + "/record.json.new"));
}

TEST(Profile, EveryLanguageHasOne) {
  const std::string data = source_directory() + "/sandbox";
  for (const Language language : {Language::kPython, Language::kSql, Language::kBash}) {
    const auto profile = load_profile(data, "", language);
    ASSERT_TRUE(profile.ok()) << profile.error().message;
    EXPECT_FALSE(profile.value().package.empty());
  }
  EXPECT_EQ(interpreter_of(Language::kTypeScript), Language::kJavaScript);
}

TEST(Profile, AMissingInterpreterNamesThePackage) {
  const TemporaryDirectory directory;
  fs::create_directory(directory.path() + "/profiles");
  directory.write("profiles/python.json",
                  R"({"program":["/nonexistent/python3"],"package":"python3"})");
  const auto profile = load_profile(directory.path(), "", Language::kPython);
  ASSERT_FALSE(profile.ok());
  EXPECT_NE(profile.error().message.find("install the package python3"), std::string::npos);
}

TEST(PlanOfABox, BindsTheSessionByInodeAndRefusesLinks) {
  const TemporaryDirectory directory;
  BoxSpec spec;
  spec.session_directory = directory.path();
  spec.data_directory = source_directory() + "/sandbox";
  for (const char* name : {"workspace", "home", "tmp"}) {
    fs::create_directory(directory.path() + "/" + name);
  }
  fs::create_directory_symlink("/etc", directory.path() + "/runs");
  EXPECT_FALSE(make_plan(spec, {}, {}).ok());
  fs::remove(directory.path() + "/runs");
  fs::create_directory(directory.path() + "/runs");
  const auto plan = make_plan(spec, {{"/v1/tasks"}, "/v2"}, {});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  wire::PlanReader reader(plan.value().data(), plan.value().size());
  wire::PlanRecord record;
  std::map<std::string, std::string> binds, links;
  std::map<int, std::string> limits;
  std::string cgroups;
  while (reader.next(record)) {
    if (record.op == wire::PlanOp::kCgroup) cgroups += std::string("join ") + record.fields[0];
    if (record.op == wire::PlanOp::kCgroup2) {
      cgroups += std::string(", start in ") + record.fields[0];
    }
    if (record.op == wire::PlanOp::kRlimit) {
      limits[std::stoi(record.fields[0])] = std::string(record.fields[1]) + "/" + record.fields[2];
    }
    if (record.op == wire::PlanOp::kBind) binds[record.fields[1]] = record.fields[4];
    if (record.op == wire::PlanOp::kSymlink) links[record.fields[1]] = record.fields[0];
  }
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(cgroups, "join /v1/tasks, start in /v2");
  EXPECT_EQ(limits[RLIMIT_CORE], "1/1");
  // Whatever the server's user has of these by limits.conf.
  for (const int better : {RLIMIT_RTPRIO, RLIMIT_NICE}) EXPECT_EQ(limits[better], "0/0");
  struct stat status {};
  ASSERT_EQ(::stat((directory.path() + "/workspace").c_str(), &status), 0);
  EXPECT_EQ(binds["/workspace"], std::to_string(status.st_ino));
  EXPECT_TRUE(binds.contains("/usr"));
  EXPECT_EQ(links["/run/hutch/bin/python"], "/usr/bin/python3");
  for (const char* never : {"/sys", "/etc/passwd", "/etc/shadow", "/home", "/root", "/run", "/var",
                            "/dev/kmsg", "/dev/mem", "/dev/fuse", "/dev/kvm"}) {
    EXPECT_FALSE(binds.contains(never)) << never;
  }
}

TEST(TelemetryHosts, WhatIsAboutThemAloneIsKnown) {
  using nlohmann::json;
  const TemporaryDirectory directory;
  std::ofstream(directory.path() + "/telemetry.json") << R"({"hosts": ["report.test"]})";
  TelemetryHosts hosts(directory.path());
  const auto opened = [&hosts](const char* host, int id) {
    return hosts.is_about({{"event", "opened"}, {"host", host}, {"id", id}});
  };
  const auto is_about = [&hosts](const char* event, int id) {
    return hosts.is_about({{"event", event}, {"id", id}, {"used", 10}});
  };
  const json used = {{"event", "used"}, {"used", 10}};
  EXPECT_FALSE(hosts.is_about(used)) << "nothing has begun";
  EXPECT_TRUE(hosts.is_about({{"event", "refused"}, {"host", "report.test"}}));
  EXPECT_TRUE(opened("report.test", 1));
  EXPECT_TRUE(is_about("carried", 1) && hosts.is_about(used));
  EXPECT_FALSE(opened("web.test", 2));
  EXPECT_FALSE(is_about("carried", 1)) << "the bytes may be of the other";
  EXPECT_FALSE(hosts.is_about(used));
  EXPECT_FALSE(is_about("closed", 2));
  EXPECT_TRUE(is_about("closed", 1));
  EXPECT_TRUE(opened("report.test", 3));
  EXPECT_TRUE(is_about("request", 3) && hosts.is_about(used)) << "the rest of it";
  EXPECT_FALSE(opened("web.test", 4));
  EXPECT_FALSE(is_about("closed", 4) || hosts.is_about(used));
}

}  // namespace
