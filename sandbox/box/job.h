// A run while the box works on it: the request, the record that grows, and what belongs to it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/box/disk_room.h"
#include "sandbox/box/event_loop.h"
#include "sandbox/box/file_changes.h"
#include "sandbox/box/new_obeyed_files.h"
#include "sandbox/box/stream_file.h"
#include "sandbox/box/worker.h"
#include "sandbox/run.h"

namespace sandbox::box {

struct Job {
  RunRequest request;
  Run run;
  base::UniqueFd directory;  // runs/<run_id>
  std::shared_ptr<StreamFile> out;
  std::shared_ptr<StreamFile> err;
  Worker* worker = nullptr;            // while it runs
  std::unique_ptr<Worker> own_worker;  // for a run with a process of its own
  EventLoop::TimerId deadline = 0;
  EventLoop::TimerId escalation = 0;
  std::int64_t deadline_at_ms = 0;  // steady clock; while held, what is left of it
  bool deadline_held = false;
  int escalation_step = 0;
  std::int64_t escalation_at_ms = 0;  // as deadline_at_ms
  bool escalation_held = false;
  FileChanges::Snapshot files_before;
  ObeyedNames obeyed_before;
  std::int64_t started_file_time_ns = 0;
  std::int64_t started_process_time = 0;  // process_clock()
  std::int64_t oom_kills_before = 0;
  std::int64_t pids_refused_before = 0;
  std::int64_t bash_state_before = 0;             // bash_state_number()
  std::optional<Cause> stop_cause;                // why the box is ending it, if it is
  DiskLimit disk_limit = DiskLimit::kRoomOfHost;  // for which, where that is the disk
  FileChanges::Unfinished unfinished;             // when that began
  bool left_filled_table = false;                 // see Met
  LeftRunning left_running;                       // as its runner says it
  bool starts_anew = false;                       // with the session's next box
  bool had_company = false;                       // another run was on at some time of it
  bool group_interrupted = false;
  bool group_asked = false;  // by the first interrupt
  int start_attempts = 0;
  std::size_t outputs_bytes = 0;  // outputs in the record
  std::size_t outputs_values = 0;
  std::int64_t files_bytes = 0;    // files beside the streams
  std::int64_t files_written = 0;  // with those that were dropped again
  std::int64_t files_bytes_max = 0;
  std::map<std::string, std::int64_t> parts;  // bytes of each form that is there of the next output
};

// Makes the run's directory. kConflict when this run_id was used before. Each stream, and all that
// is kept of outputs, may have `stream_bytes_max`.
base::Status open_job_files(Job& job, int runs_fd, std::int64_t stream_bytes_max);

// Makes a directory for the next run while nobody waits: new names cost some file systems more than
// all else that a short run does.
void prepare_job_files(int runs_fd);

// Writes record.json, complete or not at all.
base::Status write_record(const Job& job);

}  // namespace sandbox::box
