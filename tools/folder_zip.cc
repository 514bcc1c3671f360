#include "tools/folder_zip.h"

#include <fcntl.h>
#include <minizip/zip.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/text.h"
#include "sandbox/files/box_path.h"
#include "share/host_room.h"
#include "tools/text_window.h"

namespace tools {

using base::Error;
using sandbox::files::BoxFiles;
using sandbox::files::ListEntry;

namespace {

constexpr std::size_t kPieceBytes = 256U << 10;
constexpr std::size_t kNamedMax = 3;
constexpr unsigned kUnix = 3U << 8U;  // whose modes they are: APPNOTE.TXT 4.4.2
constexpr unsigned kVersion = 20;
constexpr unsigned kNamesAreUtf8 = 1U << 11U;  // 4.4.4
constexpr unsigned kModeShift = 16;            // in the external attributes
constexpr unsigned kDirectoryMode = S_IFDIR | 0755;

Error not_written() { return base::error(Error::Kind::kInternal, "the zip file is not written"); }

std::string last_of(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.empty() ? "files" : name;
}

zip_fileinfo about(const ListEntry& entry, unsigned mode) {
  zip_fileinfo info{};
  const std::time_t seconds = entry.modified_at_ms / 1000;
  std::tm time{};
  (void)::gmtime_r(&seconds, &time);
  info.tmz_date = {static_cast<unsigned>(time.tm_sec),  static_cast<unsigned>(time.tm_min),
                   static_cast<unsigned>(time.tm_hour), static_cast<unsigned>(time.tm_mday),
                   static_cast<unsigned>(time.tm_mon),  static_cast<unsigned>(time.tm_year + 1900)};
  info.external_fa = static_cast<uLong>(mode) << kModeShift;
  return info;
}

class ZipWriter {
 public:
  // `fd` is borrowed: written to by the name that it has in /proc.
  explicit ZipWriter(int fd)
      : zip_(::zipOpen64(("/proc/self/fd/" + std::to_string(fd)).c_str(), APPEND_STATUS_CREATE)) {}
  ~ZipWriter() {
    if (zip_ != nullptr) (void)::zipClose(zip_, nullptr);
  }
  ZipWriter(const ZipWriter&) = delete;
  ZipWriter& operator=(const ZipWriter&) = delete;

  base::Status begin(const std::string& name, const zip_fileinfo& info) {
    const bool opened =
        zip_ != nullptr && ::zipOpenNewFileInZip4(zip_, name.c_str(), &info, nullptr, 0, nullptr, 0,
                                                  nullptr, Z_DEFLATED, Z_BEST_SPEED, 0, -MAX_WBITS,
                                                  DEF_MEM_LEVEL, Z_DEFAULT_STRATEGY, nullptr, 0,
                                                  kUnix | kVersion, kNamesAreUtf8) == ZIP_OK;
    return opened ? base::done() : not_written();
  }
  base::Status write(const std::string& piece) {
    const auto size = static_cast<unsigned>(piece.size());
    return ::zipWriteInFileInZip(zip_, piece.data(), size) == ZIP_OK ? base::done() : not_written();
  }
  base::Status end() { return ::zipCloseFileInZip(zip_) == ZIP_OK ? base::done() : not_written(); }
  base::Status finish() {
    return ::zipClose(std::exchange(zip_, nullptr), nullptr) == ZIP_OK ? base::done()
                                                                       : not_written();
  }

 private:
  zipFile zip_;
};

// Some that unpack it take a backslash for a separator.
bool is_name_everywhere(const std::string& name) {
  return std::ranges::none_of(name, [](unsigned char c) { return c == '\\' || c < 0x20; });
}

Error too_large(std::int64_t bytes) {
  return base::error(
      Error::Kind::kLimit,
      "the folder has more than " + std::to_string(bytes >> 20) + " MiB: take a part of it");
}

// One walk through a folder.
class Packing {
 public:
  // `zip_fd` is borrowed: what `zip` writes to.
  Packing(const BoxFiles& files, ZipWriter& zip, int zip_fd, const ZipBounds& bounds,
          std::stop_token gone)
      : files_(files), zip_(zip), zip_fd_(zip_fd), bounds_(bounds), gone_(std::move(gone)) {}

  base::Status add(const ListEntry& entry, const std::string& name) {
    if (entry.escaped || !is_name_everywhere(name)) {
      leave_out(name);
      return base::done();
    }
    if (entry.type == "directory") {
      TRY(zip_.begin(name + "/", about(entry, kDirectoryMode)));
      return zip_.end();
    }
    auto file = entry.type == "file" ? files_.open(entry.path) : no_file();
    struct stat status {};
    if (!file.ok() || ::fstat(file.value().get(), &status) != 0) {
      leave_out(name);
      return base::done();
    }
    TRY(zip_.begin(name, about(entry, S_IFREG | (status.st_mode & 0777U))));
    TRY(pour(file.value().get()));
    return zip_.end();
  }

  [[nodiscard]] std::int64_t left_out() const { return left_out_; }
  [[nodiscard]] const std::vector<std::string>& names_left_out() const { return names_left_out_; }

 private:
  void leave_out(const std::string& name) {
    ++left_out_;
    const std::string in_folder = name.substr(name.find('/') + 1);
    if (names_left_out_.size() < kNamedMax) names_left_out_.push_back(one_line(in_folder));
  }

  static base::Result<base::UniqueFd> no_file() {
    return base::error(Error::Kind::kInvalid, "it is no file");
  }

  // Writes the file into the zip. It may be changing and growing, so each piece is held against the
  // bounds.
  base::Status pour(int fd) {
    off_t offset = 0;
    while (true) {
      if (gone_.stop_requested()) {
        return base::error(Error::Kind::kUnavailable, "nobody waits for it any more");
      }
      const std::string piece = TRY(base::read_at(fd, offset, kPieceBytes));
      if (piece.empty()) return base::done();
      offset += static_cast<off_t>(piece.size());
      bytes_ += static_cast<std::int64_t>(piece.size());
      if (bytes_ > bounds_.content_bytes) return too_large(bounds_.content_bytes);
      TRY(zip_.write(piece));
      struct stat status {};
      if (::fstat(zip_fd_, &status) == 0 && status.st_size > bounds_.zip_bytes) {
        return too_large(bounds_.zip_bytes);
      }
    }
  }

  const BoxFiles& files_;
  ZipWriter& zip_;
  const int zip_fd_;
  const ZipBounds bounds_;
  const std::stop_token gone_;
  std::int64_t bytes_ = 0;
  std::int64_t left_out_ = 0;
  std::vector<std::string> names_left_out_;
};

}  // namespace

std::string told_of_left_out(const FolderZip& zip) {
  if (zip.left_out == 0) return "";
  return std::to_string(zip.left_out) +
         (zip.left_out == 1 ? " entry is not in it: a link" : " entries are not in it: links") +
         ", what cannot be read, or names that not every system can have";
}

std::string named_left_out(const FolderZip& zip) {
  if (zip.names_left_out.empty()) return "";
  const auto more = zip.left_out - static_cast<std::int64_t>(zip.names_left_out.size());
  return " (" + base::join(zip.names_left_out) +
         (more > 0 ? " and " + std::to_string(more) + " more)" : ")");
}

base::Result<FolderZip> zip_folder(const BoxFiles& files, const std::string& path,
                                   const std::string& directory, const ZipBounds& bounds,
                                   const std::stop_token& gone) {
  sandbox::files::ListOptions options;
  options.recursive = true;
  options.max_entries = sandbox::files::kListEntriesMax;
  const auto listed = TRY(files.list(path, options));
  if (listed.truncated) {
    return base::error(Error::Kind::kLimit,
                       "the folder has more than " + std::to_string(options.max_entries) +
                           " entries: take a part of it, or make an archive inside");
  }
  std::int64_t bytes = 0;
  for (const ListEntry& entry : listed.entries) bytes += entry.bytes;
  TRY(share::check_host_room(directory, std::min(bytes, bounds.zip_bytes), "a zip file"));
  const std::string name = last_of(sandbox::files::shown_path(listed.path));
  FolderZip result;
  result.filename = name + ".zip";
  result.file = TRY(base::open_file(AT_FDCWD, directory, O_TMPFILE | O_RDWR, 0600));
  ZipWriter zip(result.file.get());
  Packing packing(files, zip, result.file.get(), bounds, gone);
  const std::size_t top = listed.path == "/" ? 1 : listed.path.size() + 1;
  for (const ListEntry& entry : listed.entries) {
    if (entry.path.size() > top) TRY(packing.add(entry, name + "/" + entry.path.substr(top)));
  }
  TRY(zip.finish());
  result.left_out = packing.left_out();
  result.names_left_out = packing.names_left_out();
  struct stat status {};
  if (::fstat(result.file.get(), &status) != 0) return Error::from_errno("fstat of a zip file");
  result.bytes = status.st_size;
  return result;
}

}  // namespace tools
