// hutch cp: files into sessions, and out of them.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <iostream>
#include <optional>

#include "sandbox/files/box_files.h"
#include "tools/cli/commands.h"
#include "tools/text_window.h"
#include "tools/tool_kit.h"

namespace tools::cli {

using base::Error;

namespace {

constexpr std::size_t kPieceBytes = 1 << 20;

struct InSession {
  std::string session;
  std::string path;
};

// "analysis:/workspace/a.csv"; a path of this machine may have a colon behind a slash.
std::optional<InSession> in_session(const std::string& place) {
  const std::size_t colon = place.find(':');
  if (colon == std::string::npos || colon == 0 || place.find('/') < colon) return std::nullopt;
  return InSession{place.substr(0, colon), place.substr(colon + 1)};
}

std::string name_of_path(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

bool names_directory(const std::string& path) { return path.empty() || path.ends_with('/'); }

base::Result<sandbox::files::BoxFiles> files_of(Application& app,
                                                const sessions::Session& session) {
  return files_in(TRY(app.sessions().root_of(session)), session);
}

base::Status pour(int from, int to) {
  off_t offset = 0;
  while (true) {
    const std::string piece = TRY(base::read_at(from, offset, kPieceBytes));
    if (piece.empty()) return base::done();
    TRY(base::write_all(to, piece));
    offset += static_cast<off_t>(piece.size());
  }
}

// Into what is there, as cp(1) does, when that is no file: a pipe, a terminal.
base::Result<bool> write_into_what_is_no_file(int source, const std::string& target) {
  struct stat status {};
  if (::stat(target.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return false;
  const base::UniqueFd file = TRY(base::open_file(AT_FDCWD, target, O_WRONLY));
  TRY(pour(source, file.get()));
  return true;
}

// To a new name first: whoever looks sees the old file or the new one.
base::Status write_here(int source, std::string target, mode_t umask) {
  if (TRY(write_into_what_is_no_file(source, target))) return base::done();
  std::error_code none;
  // Where a link leads, and with the mode that the file has.
  const auto real = std::filesystem::canonical(target, none);
  if (!none) target = real.string();
  struct stat before {};
  const bool is_there = ::stat(target.c_str(), &before) == 0;
  const std::string partial = target + ".hutch-part";
  {
    const base::UniqueFd file = TRY(base::open_file(
        AT_FDCWD, partial, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0666 & ~umask));
    if (is_there) (void)::fchmod(file.get(), before.st_mode & 07777);
    if (auto done = pour(source, file.get()); !done.ok()) {
      (void)::unlink(partial.c_str());
      return done;
    }
  }
  if (::rename(partial.c_str(), target.c_str()) == 0) return base::done();
  const auto failure = Error::from_errno("write " + target);
  (void)::unlink(partial.c_str());
  return failure;
}

base::Status copy_out(Application& app, const InSession& from, std::string target) {
  const auto session = TRY(app.sessions().find(app.principal_id(), from.session));
  const auto files = TRY(files_of(app, session));
  const base::UniqueFd source = TRY(files.open(from.path));
  if (target == "-") return pour(source.get(), STDOUT_FILENO);
  std::error_code ignored;
  if (std::filesystem::is_directory(target, ignored)) {
    target += (target.ends_with('/') ? "" : "/") + name_of_path(from.path);
  }
  return write_here(source.get(), target, app.settings().user_umask);
}

base::Status copy_in(Application& app, const std::string& source, const InSession& to) {
  std::string content;
  if (source == "-") {
    content = TRY(base::read_all(STDIN_FILENO, sandbox::files::kWriteBytesMax));
  } else {
    const base::UniqueFd file = TRY(base::open_file(AT_FDCWD, source, O_RDONLY));
    auto read = base::read_all(file.get(), sandbox::files::kWriteBytesMax);
    if (!read.ok()) return std::move(read).error().context(source);
    content = std::move(read).value();
  }
  const auto session = TRY(app.sessions().find_or_create_named(app.principal_id(), to.session));
  const auto files = TRY(files_of(app, session));
  std::string path = to.path;
  if (names_directory(path)) path += source == "-" ? "stdin" : name_of_path(source);
  const Services services{.sessions = app.sessions(), .share = app.share(), .session_name = ""};
  (void)TRY(
      write_into(services, session, files, path, content, sandbox::files::WriteMode::kOverwrite));
  return base::done();
}

}  // namespace

base::Result<int> run_copy(Application& app, const CopyOptions& options) {
  const auto from = in_session(options.from);
  const auto to = in_session(options.to);
  if (from.has_value() == to.has_value()) {
    return base::error(Error::Kind::kInvalid,
                       "one of both is SESSION:PATH, the other a path of this machine or -");
  }
  TRY(from ? copy_out(app, *from, options.to) : copy_in(app, options.from, *to));
  return 0;
}

}  // namespace tools::cli
