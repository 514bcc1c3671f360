// hutch run: one run from the shell. Output goes where it belongs as it comes; the exit status is
// that of the code.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "sandbox/egress/session_advice.h"
#include "sandbox/limits.h"
#include "sandbox/output.h"
#include "sessions/boxes.h"
#include "sessions/run_files.h"
#include "sessions/run_state.h"
#include "sessions/runs.h"
#include "sessions/session.h"
#include "sessions/sessions.h"
#include "share/share_folder.h"
#include "tools/cli/commands.h"
#include "tools/cli/follow_run.h"
#include "tools/cli/own_command.h"
#include "tools/cli/terminal.h"
#include "tools/cli/unshown_results.h"
#include "tools/advice.h"
#include "tools/session_files.h"
#include "tools/text_window.h"

namespace tools::cli {

using base::Error;
using sessions::RunState;

namespace {

constexpr int kTimedOutStatus = 124;

// These names stand for a language, as the suffix of a file and for -l. JSX is not among them:
// nothing here takes it.
struct ShortName {
  std::string_view name;
  sandbox::Language language;
};
constexpr ShortName kShortNames[] = {
    {"py", sandbox::Language::kPython},      {"js", sandbox::Language::kJavaScript},
    {"mjs", sandbox::Language::kJavaScript}, {"cjs", sandbox::Language::kJavaScript},
    {"ts", sandbox::Language::kTypeScript},  {"mts", sandbox::Language::kTypeScript},
    {"cts", sandbox::Language::kTypeScript}, {"sql", sandbox::Language::kSql},
    {"sh", sandbox::Language::kBash},        {"bash", sandbox::Language::kBash}};

std::optional<sandbox::Language> find_short(std::string_view name) {
  for (const ShortName& row : kShortNames) {
    if (row.name == name) return row.language;
  }
  return std::nullopt;
}

// Prints a form of an output that is too large for the record, from its file.
void print_file(const sessions::RunFiles& files, const RunState& state, const std::string& name) {
  std::int64_t offset = 0;
  while (std::cout) {
    const auto bytes = files.read(state.session_id, state.run.run_id, name, offset, kPrintedBytes);
    if (!bytes.ok() || bytes.value().empty()) return;
    if (!print_of_sandbox(std::cout, bytes.value()).ok()) return;
    offset += static_cast<std::int64_t>(bytes.value().size());
  }
}

void print_values(Application& app, const RunState& state) {
  for (const nlohmann::json& output : state.run.outputs) {
    const std::string whole = sandbox::whole_name(output, state.run.run_id, "text");
    if (!whole.empty()) {
      print_file(app.services().run_files, state, whole);
    } else if (output.contains("text")) {
      (void)print_of_sandbox(std::cout, output["text"].get<std::string>());
    } else {
      continue;
    }
    (void)print_of_sandbox(std::cout, "\n");
  }
}

base::Result<std::filesystem::path> save_path(const std::string& directory) {
  std::error_code failure;
  auto path = std::filesystem::absolute(directory, failure).lexically_normal();
  if (failure) return base::error(Error::Kind::kInvalid, directory + ": " + failure.message());
  if (!path.has_filename()) path = path.parent_path();  // it ended in a slash
  return path;
}

// Before the session goes, and they with it. Never over a file that is there.
base::Status save_results(Application& app, const RunState& state,
                          const std::filesystem::path& path) {
  const share::ShareFolder folder(path, app.settings().user_umask);
  for (const Unshown& unshown : find_unshown(state.run)) {
    const std::string bytes = TRY(read_unshown(app.services().run_files, state, unshown));
    const base::UniqueFd copy = TRY(base::make_memory_file("result", bytes));
    auto put = folder.put(copy.get(), unshown.name);
    if (!put.ok()) {
      return std::move(put).error().context("save " + unshown.name + " in " + path.string());
    }
    tell("saved " + put.value());
  }
  return base::done();
}

// Code chooses the names of its files: it must not get at what programs of this machine obey, such
// as .git/hooks, nor through a link that lies below `top`.
bool may_be_saved(const std::filesystem::path& top, const std::filesystem::path& name) {
  std::filesystem::path place = top;
  for (const auto& part : name) {
    std::error_code ignored;
    place /= part;
    if (part.empty() || part.string().starts_with('.')) return false;
    const bool is_last = place == top / name;
    if (!is_last && std::filesystem::is_symlink(std::filesystem::symlink_status(place, ignored))) {
      return false;
    }
  }
  return true;
}

// A link is none, and what is listed may be gone.
bool is_file_there(const sandbox::files::BoxFiles& files, const std::string& path) {
  const auto link = files.link_text_of(path);
  return link.ok() && link.value().empty() && files.open(path).ok();
}

// The umask of this process is not that of its user.
base::Status make_directories(const std::filesystem::path& directory, mode_t umask) {
  std::filesystem::path place;
  for (const auto& part : directory) {
    place /= part;
    if (::mkdir(place.c_str(), 0777 & ~umask) != 0 && errno != EEXIST) {
      return Error::from_errno("make " + place.string());
    }
  }
  return base::done();
}

base::Status save_file(const sandbox::files::BoxFiles& files, const sandbox::FileChange& change,
                       const std::filesystem::path& target, mode_t umask, std::int64_t& room) {
  const base::UniqueFd file = TRY(files.open(change.path));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return Error::from_errno("fstat");
  if (status.st_size > room) {
    return base::error(Error::Kind::kLimit, "the files have more than " +
                                                std::to_string(kSavedBytesMax >> 20) +
                                                " MB together; hutch cp copies those of a session");
  }
  room -= status.st_size;
  TRY(make_directories(target.parent_path(), umask));
  const share::ShareFolder folder(target.parent_path(), umask);
  tell("saved " + TRY(folder.put(file.get(), target.filename())));
  return base::done();
}

// Saves what the run has made or changed in /workspace, under the same names. Returns how many of
// the files that it has made are there now. Tells of each that cannot be saved, and then sets
// `failed`: the others are saved nevertheless, since their sandbox goes.
base::Result<std::int64_t> save_files(Application& app, const sessions::Session& session,
                                      const sandbox::Run& run, const std::filesystem::path& top,
                                      bool& failed) {
  if (run.files_changed.empty()) return 0;
  const auto files = files_in(TRY(app.services().boxes.root_of(session)), session);
  auto room = static_cast<std::int64_t>(kSavedBytesMax);
  std::int64_t made = 0;
  std::int64_t left_out = 0;
  for (const sandbox::FileChange& change : run.files_changed) {
    if (change.change == "deleted" || !change.path.starts_with(sandbox::kBelowWorkspace)) continue;
    const std::string name = change.path.substr(sandbox::kBelowWorkspace.size());
    if (!may_be_saved(top, name) || !is_file_there(files, change.path)) {
      ++left_out;
      continue;
    }
    if (auto saved = save_file(files, change, top / name, app.settings().user_umask, room);
        !saved.ok()) {
      tell("save " + name + " in " + top.string() + ": " + saved.error().message);
      failed = true;
    } else if (change.change == "created") {
      ++made;
    }
  }
  if (left_out > 0) {
    tell(std::to_string(left_out) + (left_out == 1 ? " file was" : " files were") +
         " not saved: with a dot in front, links, or behind one");
  }
  const auto listed = static_cast<std::int64_t>(run.files_changed.size());
  if (run.files_changed_total > listed) {
    tell("of the files that the run changed, the first " + std::to_string(listed) + " of " +
         std::to_string(run.files_changed_total) + " were looked at");
  }
  return made;
}

void tell_of_unshown(const sandbox::Run& run) {
  const auto unshown = find_unshown(run);
  if (unshown.empty()) return;
  const auto pictures = std::count_if(unshown.begin(), unshown.end(), [](const Unshown& one) {
    return one.form == Unshown::Form::kPicture;
  });
  const bool tables = pictures < static_cast<std::ptrdiff_t>(unshown.size());
  const std::string what = pictures == 0 ? "a part of a table"
                           : tables      ? "pictures, and a part of a table"
                                         : "pictures";
  tell("it shows " + what + "; --save DIRECTORY writes all of them there");
}

// They go with a sandbox that has no name.
void tell_of_lost_files(const sandbox::Run& run, std::int64_t saved) {
  const auto created = std::count_if(run.files_changed.begin(), run.files_changed.end(),
                                     [](const auto& file) { return file.change == "created"; });
  const std::int64_t made = created - saved;
  if (made == 0) return;
  tell(std::to_string(made) + (made == 1 ? " file" : " files") +
       " that the code wrote went with its sandbox; --session NAME keeps them");
}

// Not all that waits there is meant for the code: of a pipe that a script has inherited nothing is
// said while it is empty.
void tell_of_unread_input(const RunOptions& options) {
  if (options.file == "-") return;
  struct stat status {};
  if (::fstat(STDIN_FILENO, &status) != 0) return;
  int waiting = 0;
  const bool has_more = S_ISREG(status.st_mode)
                            ? ::lseek(STDIN_FILENO, 0, SEEK_CUR) < status.st_size
                            : S_ISFIFO(status.st_mode) &&
                                  ::ioctl(STDIN_FILENO, FIONREAD, &waiting) == 0 && waiting > 0;
  if (!has_more) return;
  tell(
      "the code is not given the standard input of hutch run: hutch cp - SESSION:PATH makes it a "
      "file, hutch shell SESSION -- PROGRAM has it");
}

// A person is told of a run by these.
struct Report {
  bool saves = false;  // whatever is not shown goes into a directory
  bool lasts = false;  // the session is there afterwards
  std::int64_t timeout_seconds = 0;
  std::int64_t most_seconds = 0;  // that it could have had
  std::string command;            // own_command()
};

// The sandbox's own words are for who calls tools, and name their arguments.
std::string words_of(const sandbox::RunError& failure, const Report& report) {
  if (failure.cause != sandbox::Cause::kTimeout) return failure.message;
  return "the run took longer than " + std::to_string(report.timeout_seconds) + " seconds" +
         (report.timeout_seconds < report.most_seconds ? "; --timeout SECONDS gives it more"
                                                       : ", the most that it can have");
}

// Returns the run's note. Where the session is no more, what is said of a missing network names
// options of this command instead of ways to change the session.
std::string note_of(const RunState& state, const Report& report) {
  std::string note = state.run.note;
  for (const sandbox::LeftRunning& left : state.run.left_running) {
    base::append_part(note, in_words(left), "; ");
  }
  if (!state.run.lacks_network) return note;
  base::append_part(note,
                    report.lasts ? note_of_no_network(state.session_id, report.command)
                                 : "it had no network: --allow HOST gives it that host, "
                                   "--packages those of pip and npm",
                    "; ");
  return note;
}

std::string words_of(const sandbox::NetworkUse::Refusal& refusal, const RunState& state,
                     const Report& report) {
  if (refusal.missing_rule.empty()) return refusal.reason;
  if (!report.lasts && !refusal.host_is_allowed) return "--allow " + refusal.host + " allows it";
  return refusal.reason +
         sandbox::egress::advice_on(state.session_id, refusal.missing_rule, "", report.command);
}

void tell_of_refused_hosts(const RunState& state, const Report& report) {
  for (const auto& refusal : state.run.network.refused) {
    tell(refusal.host + " was refused: " + words_of(refusal, state, report));
  }
}

int tell_end(const RunState& state, const Report& report) {
  if (!report.saves) tell_of_unshown(state.run);
  const std::string note = note_of(state, report);
  if (!note.empty()) tell(note);
  tell_of_refused_hosts(state, report);
  if (state.run.status == sandbox::RunStatus::kCompleted) return 0;
  if (state.run.error && state.run.error->cause != sandbox::Cause::kException &&
      state.run.error->cause != sandbox::Cause::kExit) {
    tell(std::string(name_of(state.run.status)) + " (" + name_of(state.run.error->cause) +
         "): " + words_of(*state.run.error, report));
  }
  // Whatever ended the code when its time was over: timeout(1) answers the same.
  if (state.run.status == sandbox::RunStatus::kTimedOut) return kTimedOutStatus;
  return state.run.exit_code.value_or(1);
}

}  // namespace

base::Result<sandbox::Language> language_of(const RunOptions& options) {
  if (!options.language.empty()) {
    auto language = sandbox::find_language(options.language);
    if (!language) language = find_short(options.language);
    if (language) return *language;
    return base::error(Error::Kind::kInvalid,
                       "--language must be python (py), javascript (js), typescript (ts), sql or "
                       "bash (sh)");
  }
  const std::string suffix = std::filesystem::path(options.file).extension();
  if (suffix.empty()) return sandbox::Language::kPython;
  if (const auto language = find_short(suffix.substr(1))) return *language;
  return base::error(Error::Kind::kInvalid, "no language is known by the suffix " +
                                                one_line(to_utf8(suffix)) + ": give -l LANGUAGE");
}

base::Result<std::string> read_code(const RunOptions& options) {
  if (options.file == "-") return base::read_all(STDIN_FILENO, sandbox::kCodeBytesMax);
  const base::UniqueFd code = TRY(base::open_file(AT_FDCWD, options.file, O_RDONLY));
  return base::read_all(code.get(), sandbox::kCodeBytesMax);
}

base::Result<int> run_code_once(Application& app, const RunOptions& options, std::string code) {
  sandbox::RunRequest request;
  request.trace.mark(sandbox::Hop::kCalled);
  request.code = std::move(code);
  request.language = TRY(language_of(options));
  sessions::Session session;
  if (options.session.empty()) {
    session = TRY(app.services().sessions.create(app.principal_id(), {})).session;
  } else {
    session =
        TRY(app.services().sessions.find_or_create_named(app.principal_id(), options.session));
  }
  std::int64_t timeout_seconds = session.limits.run_seconds;
  const Interruptible interruptible;
  const auto finished = [&]() -> base::Result<RunState> {
    if (options.timeout_seconds > 0) {
      timeout_seconds = TRY(app.services().runs.check_seconds(session, options.timeout_seconds));
    }
    request.timeout_seconds = timeout_seconds;
    request.most_seconds = app.services().runs.longest_seconds(session);
    RunState started = TRY(app.services().runs.start(session, std::move(request)));
    return follow(app, std::move(started), interruptible.token(), OnInterrupt::kCancel,
                  WhenUnread::kGoOn, Printed::kByCode);
  }();
  const bool saves = !options.save_directory.empty();
  base::Status saved = base::done();
  if (finished.ok() && !interruptible.came()) print_values(app, finished.value());
  std::int64_t saved_files = 0;
  if (finished.ok() && saves) {
    saved = [&]() -> base::Status {
      const auto path = TRY(save_path(options.save_directory));
      const auto results = save_results(app, finished.value(), path);
      bool failed = false;
      saved_files = TRY(save_files(app, session, finished.value().run, path, failed));
      TRY(results);
      if (failed) return base::error(Error::Kind::kInvalid, "not all files were saved");
      return base::done();
    }();
  }
  tell_of_unread_input(options);
  if (options.session.empty()) {
    if (finished.ok()) tell_of_lost_files(finished.value().run, saved_files);
    TRY(app.services().sessions.destroy(app.principal_id(), session.id));
  }
  if (!finished.ok()) return finished.error();
  const Report report{.saves = saves,
                      .lasts = !options.session.empty(),
                      .timeout_seconds = timeout_seconds,
                      .most_seconds = app.services().runs.longest_seconds(session),
                      .command = own_command(app.settings(), process_environment())};
  const int status = interruptible.came() ? 130 : tell_end(finished.value(), report);
  // The status of code that failed says more than the 1 of this.
  if (saved.ok() || status != 0) {
    if (!saved.ok()) tell(saved.error().message);
    return status;
  }
  return saved.error();
}

}  // namespace tools::cli
