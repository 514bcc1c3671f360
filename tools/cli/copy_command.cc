// hutch cp: files into sessions, and out of them.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iostream>
#include <optional>

#include "base/random_id.h"
#include "sandbox/files/box_files.h"
#include "sessions/boxes.h"
#include "sessions/session.h"
#include "sessions/sessions.h"
#include "tools/cli/commands.h"
#include "tools/cli/folder_copy.h"
#include "tools/cli/terminal.h"
#include "tools/session_files.h"
#include "tools/text_window.h"

namespace tools::cli {

using base::Error;

namespace {

constexpr mode_t kExecutable = 0111;

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

// As it is called where it lies: "." and ".." are no names.
base::Result<std::string> name_here(const std::string& path) {
  std::error_code failure;
  const auto real = std::filesystem::weakly_canonical(path, failure);
  const std::string name = std::filesystem::path(path).filename().string();
  if (!name.empty() && name != "." && name != "..") return name;
  if (!failure && !real.filename().empty()) return real.filename().string();
  return base::error(Error::Kind::kInvalid, path + " has no name: give one to copy it to");
}

base::Result<std::string> name_in_session(const sandbox::files::BoxFiles& files,
                                          const std::string& path, bool is_folder) {
  std::string whole = path;
  if (is_folder) {
    sandbox::files::ListOptions options;
    options.max_entries = 1;
    whole = TRY(files.list(path, options)).path;
  }
  std::string name = whole.substr(whole.rfind('/') + 1);
  if (!name.empty()) return name;
  return base::error(Error::Kind::kInvalid, path + " has no name: give one to copy it to");
}

base::Result<sandbox::files::BoxFiles> files_of(Application& app,
                                                const sessions::Session& session) {
  return files_in(TRY(app.services().boxes.root_of(session)), session);
}

// The target is a terminal that is named as a file.
base::Status pour_onto_terminal(int source, int terminal) {
  TerminalText text(TerminalText::Returns::kPass);
  TRY(pour(source,
           [&](std::string_view piece) { return base::write_all(terminal, text.take(piece)); }));
  return base::write_all(terminal, text.rest() + (text.is_coloured() ? kNoColours : ""));
}

base::Status pour_onto_output(int source) {
  return pour(source, [](std::string_view piece) { return print_of_sandbox(std::cout, piece); });
}

// Into what is there, as cp(1) does, when that is no file: a pipe, a terminal.
base::Result<bool> write_into_what_is_no_file(int source, const std::string& target) {
  struct stat status {};
  if (::stat(target.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return false;
  const base::UniqueFd file = TRY(base::open_file(AT_FDCWD, target, O_WRONLY));
  TRY(::isatty(file.get()) == 1 ? pour_onto_terminal(source, file.get())
                                : pour(source, file.get()));
  return true;
}

// To a new name first: whoever looks sees the old file or the new one.
base::Status write_here(int source, std::string target, mode_t umask) {
  if (TRY(write_into_what_is_no_file(source, target))) return base::done();
  std::error_code none;
  // Where a link leads, and with the mode that the file has.
  const auto real = std::filesystem::canonical(target, none);
  if (!none) target = real.string();
  struct stat status {};
  if (::fstat(source, &status) != 0) return Error::from_errno("fstat");
  mode_t mode = (0666 | (status.st_mode & kExecutable)) & ~umask;
  if (::stat(target.c_str(), &status) == 0) mode = status.st_mode & 0777;
  const std::string partial = target.substr(0, target.rfind('/') + 1) + base::short_id(".hutch-");
  {
    const base::UniqueFd file =
        TRY(base::open_file(AT_FDCWD, partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    (void)::fchmod(file.get(), mode);
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

bool is_directory_here(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

base::Result<FolderCopied> copy_out(Application& app, const InSession& from, std::string target) {
  const auto session = TRY(app.services().sessions.find(app.principal_id(), from.session));
  const auto files = TRY(files_of(app, session));
  const std::string path = from.path.empty() ? "." : from.path;
  auto source = files.open(path);
  const bool is_folder = !source.ok() && source.error().os_errno == EISDIR;
  if (target != "-" && is_directory_here(target)) {
    const std::string name = TRY(name_in_session(files, path, is_folder));
    target += (target.ends_with('/') ? "" : "/") + name;
  }
  const mode_t umask = app.settings().user_umask;
  if (is_folder && target != "-") return copy_folder_out(files, path, target, umask);
  const base::UniqueFd file = TRY(std::move(source));
  TRY(target == "-" ? pour_onto_output(file.get()) : write_here(file.get(), target, umask));
  return FolderCopied();
}

// A larger file comes in pieces of this size. The first is written as any file is, and others are
// added to it.
constexpr std::size_t kPieceBytes = 64 << 20;
static_assert(kPieceBytes <= sandbox::files::kWriteBytesMax);

base::Result<std::string> read_piece(int fd) {
  constexpr std::size_t kStepBytes = 1 << 20;
  std::string piece;
  while (piece.size() < kPieceBytes) {
    const std::size_t had = piece.size();
    piece.resize(had + kStepBytes);
    const ssize_t got = ::read(fd, piece.data() + had, kStepBytes);
    if (got < 0 && errno != EINTR) return Error::from_errno("read");
    piece.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) break;
  }
  return piece;
}

// Says on a terminal how much of a file that takes long is there.
class Progress {
 public:
  Progress(std::string name, std::int64_t total) : name_(std::move(name)), total_(total) {}

  void tell_at(std::int64_t bytes) {
    constexpr std::int64_t kLines = 10;
    if (::isatty(STDERR_FILENO) != 1 || bytes < told_ + total_ / kLines) return;
    told_ = bytes;
    tell(name_ + ": " + std::to_string(bytes >> 20) +
         (total_ > 0 ? " of " + std::to_string(total_ >> 20) : "") + " MB");
  }

 private:
  const std::string name_;
  const std::int64_t total_;  // 0: nobody knows
  std::int64_t told_ = 0;
};

// Where files of this machine go.
class Inside {
 public:
  Inside(Application& app, sessions::Session session, sandbox::files::BoxFiles files)
      : services_{app.services(), app.share(), ""},
        session_(std::move(session)),
        files_(std::move(files)) {}

  base::Status put(const std::string& source, const std::string& path) const {
    if (source == "-") return put_from(STDIN_FILENO, "standard input", path);
    const base::UniqueFd file = TRY(base::open_file(AT_FDCWD, source, O_RDONLY));
    if (auto done = put_from(file.get(), source, path); !done.ok()) {
      return std::move(done).error().context(source);
    }
    return keep_executable(source, path);
  }

  [[nodiscard]] const sandbox::files::BoxFiles& files() const { return files_; }
  // As cp(1): into what is a directory there.
  [[nodiscard]] bool has_directory(const std::string& path) const {
    const auto opened = files_.open(path);
    return !opened.ok() && opened.error().os_errno == EISDIR;
  }

 private:
  [[nodiscard]] base::Status put_from(int source, const std::string& name,
                                      const std::string& path) const {
    using sandbox::files::WriteMode;
    struct stat status {};
    if (::fstat(source, &status) != 0) return Error::from_errno("fstat");
    const std::int64_t known = S_ISREG(status.st_mode) ? status.st_size : 0;
    // Nothing of it is written where not all of it would fit.
    if (known > static_cast<std::int64_t>(kPieceBytes) && !files_.is_in_host_folder(path)) {
      TRY(services_.boxes.take_disk_room(session_, known, sandbox::RoomFor::kUpload));
    }
    Progress progress(name, known);
    std::int64_t written = 0;
    while (true) {
      const std::string piece = TRY(read_piece(source));
      if (piece.empty() && written > 0) return base::done();
      auto put = write_into(services_, session_, files_, path, piece,
                            written == 0 ? WriteMode::kOverwrite : WriteMode::kAppend);
      if (!put.ok() && written > 0) {
        Error why = std::move(put).error();
        why.message += "; only its first " + std::to_string(written >> 20) + " MB are at " + path;
        return why;
      }
      TRY(std::move(put));
      written += static_cast<std::int64_t>(piece.size());
      if (piece.size() < kPieceBytes) return base::done();
      progress.tell_at(written);
    }
  }

  [[nodiscard]] base::Status keep_executable(const std::string& source,
                                             const std::string& path) const {
    struct stat wanted {};
    if (::stat(source.c_str(), &wanted) != 0 || (wanted.st_mode & kExecutable) == 0) {
      return base::done();
    }
    const base::UniqueFd file = TRY(files_.open(path));
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return Error::from_errno("fstat");
    const mode_t mode = (status.st_mode & 0777) | (wanted.st_mode & kExecutable);
    return ::fchmod(file.get(), mode) == 0 ? base::done() : Error::from_errno("fchmod");
  }

  const Services services_;
  const sessions::Session session_;
  const sandbox::files::BoxFiles files_;
};

base::Result<FolderCopied> copy_in(Application& app, const std::string& source,
                                   const InSession& to) {
  const bool is_folder = source != "-" && is_directory_here(source);
  if (!is_folder && source != "-") {  // before a session is made for it
    (void)TRY(base::open_file(AT_FDCWD, source, O_RDONLY));
  }
  const auto session =
      TRY(app.services().sessions.find_or_create_named(app.principal_id(), to.session));
  const Inside inside(app, session, TRY(files_of(app, session)));
  std::string path = absolute_path(session, to.path);
  if (path.ends_with('/') || inside.has_directory(path)) {
    path += (path.ends_with('/') ? "" : "/") + (source == "-" ? "stdin" : TRY(name_here(source)));
  }
  if (is_folder) {
    return copy_folder_in(inside.files(), source, path,
                          [&inside](const std::string& from, const std::string& there) {
                            return inside.put(from, there);
                          });
  }
  TRY(inside.put(source, path));
  return FolderCopied();
}

}  // namespace

base::Result<int> run_copy(Application& app, const CopyOptions& options) {
  const auto from = in_session(options.from);
  const auto to = in_session(options.to);
  if (from.has_value() == to.has_value()) {
    return base::error(Error::Kind::kInvalid,
                       "one of both is SESSION:PATH, the other a path of this machine or -");
  }
  const FolderCopied copied =
      TRY(from ? copy_out(app, *from, options.to) : copy_in(app, options.from, *to));
  return copied.is_whole ? 0 : 1;
}

}  // namespace tools::cli
