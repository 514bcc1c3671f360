#include "tools/cli/folder_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random_id.h"
#include "base/text.h"
#include "sandbox/files/open_in_root.h"
#include "tools/cli/own_command.h"
#include "tools/cli/terminal.h"

namespace tools::cli {

using base::Error;
using sandbox::files::BoxFiles;
using sandbox::files::ListEntry;

namespace {

constexpr std::size_t kCopiedBytes = 1 << 20;
constexpr mode_t kExecutableMode = 0111;
constexpr std::int64_t kFolderBytesMax = std::int64_t{64} << 30;

class Tally {
 public:
  void leave_out() { ++left_out_; }
  void leave_out_link(const std::string& name, const std::string& text) {
    constexpr std::int64_t kNamed = 3;
    if (++links_ <= kNamed) base::append_part(named_links_, name + " -> " + text);
  }
  void fail(const std::string& name, const Error& why) {
    tell(name + " is not copied: " + in_words_of_shell(why.message));
    copied_.is_whole = false;
  }
  FolderCopied told() const {
    if (left_out_ > 0) {
      tell(std::to_string(left_out_) + " that are no files, directories or links were left out");
    }
    if (links_ > 0) {
      tell(std::to_string(links_) + (links_ == 1 ? " link" : " links") +
           " that may lead out of the folder " + (links_ == 1 ? "was" : "were") +
           " left out: " + named_links_);
    }
    return copied_;
  }

 private:
  std::int64_t left_out_ = 0;
  std::int64_t links_ = 0;  // that were left out
  std::string named_links_;
  FolderCopied copied_;
};

// Below a directory of this machine.
class HostFolder {
 public:
  HostFolder(base::UniqueFd top, mode_t umask) : top_(std::move(top)), umask_(umask) {}

  base::Status make_directory(const std::string& name) const {
    const auto [parent, last] = TRY(place_of(name));
    if (::mkdirat(parent.get(), last.c_str(), 0777 & ~umask_) == 0) return base::done();
    struct stat status {};
    const bool is_there =
        errno == EEXIST && ::fstatat(parent.get(), last.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (is_there && S_ISDIR(status.st_mode)) return base::done();
    return base::error(Error::Kind::kInvalid, "there is something else of that name");
  }

  // To a new name first: whoever looks sees the old file or the new one.
  base::Status put(int source, const std::string& name) const {
    struct stat status {};
    if (::fstat(source, &status) != 0) return Error::from_errno("fstat");
    const Place place = TRY(place_of(name));
    const std::string partial = base::short_id(".hutch-");
    const mode_t mode = (0666 | (status.st_mode & kExecutableMode)) & ~umask_;
    const auto done = [&]() -> base::Status {
      const base::UniqueFd file = TRY(base::open_file(
          place.parent.get(), partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode));
      return pour(source, file.get());
    }();
    return publish(place, partial, done);
  }

  base::Status put_link(const std::string& text, const std::string& name) const {
    const Place place = TRY(place_of(name));
    const std::string partial = base::short_id(".hutch-");
    const auto done = ::symlinkat(text.c_str(), place.parent.get(), partial.c_str()) == 0
                          ? base::done()
                          : base::Status(Error::from_errno("make it"));
    return publish(place, partial, done);
  }

 private:
  struct Place {
    base::UniqueFd parent;
    std::string name;  // in it
  };

  // Gives what is there under a name of its own, if it was `made`, the name that it is to have.
  static base::Status publish(const Place& place, const std::string& partial,
                              const base::Status& made) {
    const int parent = place.parent.get();
    if (made.ok() && ::renameat(parent, partial.c_str(), parent, place.name.c_str()) == 0) {
      return base::done();
    }
    const auto failure = made.ok() ? Error::from_errno("write it") : made.error();
    (void)::unlinkat(parent, partial.c_str(), 0);
    return failure;
  }

  base::Result<Place> place_of(const std::string& name) const {
    const std::size_t slash = name.rfind('/');
    const std::string parent = slash == std::string::npos ? "." : name.substr(0, slash);
    base::UniqueFd fd =
        sandbox::files::open_without_links(top_.get(), parent, O_PATH | O_DIRECTORY);
    if (!fd.valid()) return Error::from_errno("open " + parent);
    return Place{std::move(fd), slash == std::string::npos ? name : name.substr(slash + 1)};
  }

  base::UniqueFd top_;
  mode_t umask_;
};

base::Result<HostFolder> host_folder(const std::string& target, mode_t umask) {
  if (::mkdir(target.c_str(), 0777 & ~umask) != 0 && errno != EEXIST) {
    return Error::from_errno("make " + target);
  }
  return HostFolder(TRY(base::open_file(AT_FDCWD, target, O_PATH | O_DIRECTORY)), umask);
}

base::Status copy_out(const BoxFiles& files, const ListEntry& entry, const HostFolder& folder,
                      const std::string& name) {
  if (entry.type == "directory") return folder.make_directory(name);
  const base::UniqueFd source = TRY(files.open(entry.path));
  return folder.put(source.get(), name);
}

// They come last: until then nothing that is written could meet one.
void copy_links_out(const BoxFiles& files, const std::vector<ListEntry>& entries, std::size_t top,
                    const HostFolder& folder, Tally& tally) {
  for (const ListEntry& entry : entries) {
    if (entry.path.size() <= top || entry.escaped || entry.type != "symlink") continue;
    const std::string name = entry.path.substr(top);
    const auto text = files.link_text_of(entry.path);
    if (!text.ok()) {
      tally.fail(entry.path, text.error());
    } else if (!stays_below(name, text.value())) {
      tally.leave_out_link(name, text.value());
    } else if (const auto done = folder.put_link(text.value(), name); !done.ok()) {
      tally.fail(entry.path, done.error());
    }
  }
}

}  // namespace

bool stays_below(const std::string& name, const std::string& text) {
  if (text.empty() || text.starts_with('/')) return false;
  auto left = std::count(name.begin(), name.end(), '/');  // directories that it may leave
  bool goes_down = false;
  for (const std::string_view part : base::split(text, '/')) {
    if (part.empty() || part == ".") continue;
    // Behind another name, which may be a link, nobody here knows where ".." leads.
    if (part == ".." && (goes_down || --left < 0)) return false;
    goes_down = goes_down || part != "..";
  }
  return true;
}

base::Status pour(int from, int to) {
  return pour(from, [to](std::string_view piece) { return base::write_all(to, piece); });
}

base::Status pour(int from, const Sink& sink) {
  struct stat status {};
  if (::fstat(from, &status) != 0) return Error::from_errno("fstat");
  // Bytes that the file grows by meanwhile are not copied: it could go on for ever.
  off_t offset = 0;
  while (offset < status.st_size) {
    const auto left = static_cast<std::size_t>(status.st_size - offset);
    const std::string piece = TRY(base::read_at(from, offset, std::min(left, kCopiedBytes)));
    if (piece.empty()) return base::done();
    TRY(sink(piece));
    offset += static_cast<off_t>(piece.size());
  }
  return base::done();
}

base::Result<FolderCopied> copy_folder_out(const BoxFiles& files, const std::string& path,
                                           const std::string& target, mode_t umask) {
  sandbox::files::ListOptions options;
  options.recursive = true;
  options.max_entries = sandbox::files::kListEntriesMax;
  const auto listed = TRY(files.list(path, options));
  if (listed.truncated) {
    return base::error(Error::Kind::kLimit, listed.path + " has more than " +
                                                std::to_string(options.max_entries) +
                                                " entries: copy a part of it, or an archive");
  }
  const HostFolder folder = TRY(host_folder(target, umask));
  const std::size_t top = listed.path == "/" ? 1 : listed.path.size() + 1;
  Tally tally;
  std::int64_t bytes = 0;  // with many names for one file it may have more than its disk holds
  for (const ListEntry& entry : listed.entries) {
    if (entry.path.size() <= top) continue;
    if (entry.type == "file") bytes += entry.bytes;
    if (bytes > kFolderBytesMax) {
      tally.fail(entry.path, base::error(Error::Kind::kLimit,
                                         "the folder has more than " +
                                             std::to_string(kFolderBytesMax >> 30) + " GiB"));
      break;
    }
    if (entry.type == "symlink" && !entry.escaped) continue;
    if (entry.escaped || (entry.type != "file" && entry.type != "directory")) {
      tally.leave_out();
    } else if (const auto done = copy_out(files, entry, folder, entry.path.substr(top));
               !done.ok()) {
      tally.fail(entry.path, done.error());
    }
  }
  copy_links_out(files, listed.entries, top, folder, tally);
  return tally.told();
}

namespace {

void copy_link_in(const BoxFiles& files, const std::filesystem::path& link, const std::string& name,
                  const std::string& there, Tally& tally) {
  std::error_code failure;
  const std::string text = std::filesystem::read_symlink(link, failure).string();
  if (failure) {
    tally.fail(link.string(), base::error(Error::Kind::kInvalid, failure.message()));
  } else if (!stays_below(name, text)) {
    tally.leave_out_link(name, text);
  } else if (const auto done = files.make_link(there, text); !done.ok()) {
    tally.fail(link.string(), done.error());
  }
}

}  // namespace

base::Result<FolderCopied> copy_folder_in(const BoxFiles& files, const std::string& source,
                                          const std::string& path, const PutFile& put) {
  namespace fs = std::filesystem;
  std::error_code failure;
  Tally tally;
  TRY(files.make_directories(path));
  // One that cannot be read would end the walk, and is told below.
  constexpr auto kSkip = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator next(source, kSkip, failure), end; !failure && next != end;
       next.increment(failure)) {
    const std::string there = path + "/" + next->path().lexically_relative(source).string();
    std::error_code ignored;
    const fs::file_status status = next->symlink_status(ignored);
    if (fs::is_symlink(status)) {
      copy_link_in(files, next->path(), next->path().lexically_relative(source).string(), there,
                   tally);
      continue;
    }
    if (!fs::is_directory(status) && !fs::is_regular_file(status)) {
      tally.leave_out();
      continue;
    }
    if (fs::is_directory(status) && ::access(next->path().c_str(), R_OK | X_OK) != 0) {
      tally.fail(next->path().string(), Error::from_errno("read it"));
      continue;
    }
    const auto done = fs::is_directory(status) ? files.make_directories(there)
                                               : put(next->path().string(), there);
    if (!done.ok()) tally.fail(next->path().string(), done.error());
  }
  if (failure) tally.fail(source, base::error(Error::Kind::kInvalid, failure.message()));
  return tally.told();
}

}  // namespace tools::cli
