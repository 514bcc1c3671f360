#include "sandbox/box/job.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace sandbox::box {

using base::Error;

namespace {

constexpr const char* kNextDirectory = ".next";  // no run_id begins with a dot
constexpr const char* kNewRecord = "record.json.new";

base::Status write_file_in(int directory_fd, const std::string& name, std::string_view content) {
  const base::UniqueFd file = TRY(base::open_file(
      directory_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, 0644));
  return base::write_all(file.get(), content);
}

}  // namespace

base::Status open_job_files(Job& job, int runs_fd, std::int64_t stream_bytes_max) {
  const std::string& name = job.request.run_id;
  const bool prepared =
      ::renameat2(runs_fd, kNextDirectory, runs_fd, name.c_str(), RENAME_NOREPLACE) == 0;
  if (!prepared && ::mkdirat(runs_fd, name.c_str(), 0755) != 0) {
    const bool full = errno == ENOSPC || errno == EDQUOT;
    return Error::from_errno("make the directory of " + name, errno == EEXIST
                                                                  ? Error::Kind::kConflict
                                                              : full ? Error::Kind::kLimit
                                                                     : Error::Kind::kInternal);
  }
  job.directory = TRY(base::open_file(runs_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  // A terminal goes on for as long as somebody sits in front of it.
  const auto keep =
      job.request.input == Input::kTerminal ? StreamFile::Keep::kLast : StreamFile::Keep::kFirst;
  job.out = TRY(StreamFile::create(job.directory.get(), "stdout", stream_bytes_max, keep));
  job.err = TRY(StreamFile::create(job.directory.get(), "stderr", stream_bytes_max));
  job.files_bytes_max = stream_bytes_max;
  return base::done();
}

void prepare_job_files(int runs_fd) {
  // A step that fails here is done again, and its failure told, when the run comes.
  if (::mkdirat(runs_fd, kNextDirectory, 0755) != 0) return;
  const auto next = base::open_file(runs_fd, kNextDirectory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (next.ok()) (void)write_file_in(next.value().get(), kNewRecord, "");
}

base::Status write_record(const Job& job) {
  TRY(write_file_in(job.directory.get(), kNewRecord, base::print_json(run_to_json(job.run))));
  if (::renameat(job.directory.get(), kNewRecord, job.directory.get(), "record.json") != 0) {
    return Error::from_errno("rename record.json");
  }
  return base::done();
}

}  // namespace sandbox::box
