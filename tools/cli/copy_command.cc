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

// With or without a slash at its end.
std::string name_of_path(const std::string& path) {
  const std::filesystem::path whole(path);
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

Error too_many(const std::string& path) {
  return base::error(Error::Kind::kLimit, path + " has more than " +
                                              std::to_string(sandbox::files::kListEntriesMax) +
                                              " entries: copy a part of it, or an archive");
}

void tell_of_left_out(std::int64_t count) {
  if (count == 0) return;
  std::cerr << "hutch: " << count << " that are no files, as links are none, were left out\n";
}

base::Status make_directory(const std::filesystem::path& path) {
  std::error_code failure;
  std::filesystem::create_directory(path, failure);
  if (!failure) return base::done();
  return base::error(Error::Kind::kInvalid, "make " + path.string() + ": " + failure.message());
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

// Its files and directories; links and what has no name of UTF-8 are left out.
base::Status copy_folder_out(const sandbox::files::BoxFiles& files, const std::string& path,
                             const std::filesystem::path& target, mode_t umask) {
  sandbox::files::ListOptions options;
  options.recursive = true;
  options.max_entries = sandbox::files::kListEntriesMax;
  const auto listed = TRY(files.list(path, options));
  if (listed.truncated) return too_many(listed.path);
  TRY(make_directory(target));
  std::int64_t left_out = 0;
  for (const auto& entry : listed.entries) {
    const auto here =
        target / entry.path.substr(std::min(listed.path.size() + 1, entry.path.size()));
    if (!entry.escaped && entry.type == "directory") {
      TRY(make_directory(here));
    } else if (!entry.escaped && entry.type == "file") {
      const base::UniqueFd source = TRY(files.open(entry.path));
      TRY(write_here(source.get(), here.string(), umask));
    } else {
      ++left_out;
    }
  }
  tell_of_left_out(left_out);
  return base::done();
}

base::Status copy_out(Application& app, const InSession& from, std::string target) {
  const auto session = TRY(app.sessions().find(app.principal_id(), from.session));
  const auto files = TRY(files_of(app, session));
  auto source = files.open(from.path);
  const bool is_folder = !source.ok() && source.error().os_errno == EISDIR;
  std::error_code ignored;
  if (target != "-" && std::filesystem::is_directory(target, ignored)) {
    target += (target.ends_with('/') ? "" : "/") + name_of_path(from.path);
  }
  const mode_t umask = app.settings().user_umask;
  if (is_folder && target != "-") return copy_folder_out(files, from.path, target, umask);
  const base::UniqueFd file = TRY(std::move(source));
  if (target == "-") return pour(file.get(), STDOUT_FILENO);
  return write_here(file.get(), target, umask);
}

base::Result<std::string> content_of(const std::string& source) {
  if (source == "-") return base::read_all(STDIN_FILENO, sandbox::files::kWriteBytesMax);
  const base::UniqueFd file = TRY(base::open_file(AT_FDCWD, source, O_RDONLY));
  auto read = base::read_all(file.get(), sandbox::files::kWriteBytesMax);
  if (!read.ok()) return std::move(read).error().context(source);
  return read;
}

// Where files of this machine go.
class Inside {
 public:
  Inside(Application& app, sessions::Session session, sandbox::files::BoxFiles files)
      : services_{.sessions = app.sessions(), .share = app.share(), .session_name = ""},
        session_(std::move(session)),
        files_(std::move(files)) {}

  base::Status put(const std::string& source, const std::string& path) const {
    const std::string content = TRY(content_of(source));
    (void)TRY(write_into(services_, session_, files_, path, content,
                         sandbox::files::WriteMode::kOverwrite));
    return base::done();
  }

  // Links lead nowhere there, and are left out.
  base::Status put_folder(const std::string& source, const std::string& path) const {
    std::error_code failure;
    std::int64_t left_out = 0;
    TRY(files_.make_directories(path));
    for (std::filesystem::recursive_directory_iterator next(source, failure), end;
         !failure && next != end; next.increment(failure)) {
      const std::string there =
          path + "/" + std::filesystem::path(next->path()).lexically_relative(source).string();
      if (next->is_symlink()) {
        ++left_out;
      } else if (next->is_directory()) {
        TRY(files_.make_directories(there));
      } else if (next->is_regular_file()) {
        TRY(put(next->path().string(), there));
      } else {
        ++left_out;
      }
    }
    tell_of_left_out(left_out);
    if (!failure) return base::done();
    return base::error(Error::Kind::kInvalid, "read " + source + ": " + failure.message());
  }

 private:
  const Services services_;
  const sessions::Session session_;
  const sandbox::files::BoxFiles files_;
};

base::Status copy_in(Application& app, const std::string& source, const InSession& to) {
  std::error_code ignored;
  const bool is_folder = source != "-" && std::filesystem::is_directory(source, ignored);
  if (!is_folder && source != "-") {  // before a session is made for it
    (void)TRY(base::open_file(AT_FDCWD, source, O_RDONLY));
  }
  const auto session = TRY(app.sessions().find_or_create_named(app.principal_id(), to.session));
  const Inside inside(app, session, TRY(files_of(app, session)));
  std::string path = to.path;
  if (names_directory(path)) path += source == "-" ? "stdin" : name_of_path(source);
  if (!is_folder) return inside.put(source, path);
  return inside.put_folder(source, path.starts_with('/') ? path : "/workspace/" + path);
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
