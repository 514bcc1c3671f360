// A LossRecord says which languages of the session have state, which runs in the background are on,
// and which processes went on beside them as the box ended: what a box that has ended took with it,
// the next one says to the next run. It is kept in the session's lock file, which every owner has
// open.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/box/run_processes.h"
#include "sandbox/run.h"

namespace sandbox::box {

class LossRecord {
 public:
  // Reads what the box before has left. `file_fd` is borrowed.
  static base::Result<LossRecord> open(int file_fd);

  // Returns what the session has lost since its last run, in words; empty when that is nothing.
  // State of the languages in `stored` outlived its process.
  [[nodiscard]] std::string loss(const std::set<Language>& stored) const;

  // Returns whether the box has had a run of an interpreter.
  [[nodiscard]] bool is_used() const { return !used_.empty(); }
  // A run begins: it is told of the loss, and what it makes can be lost. One that `comes_back` is
  // started anew with the next box, which says so itself.
  void begins(const Run& run, bool comes_back);
  void is_over(const std::string& run_id);
  // The box ends, and what is on with it, as `processes` are. `why` fits behind "because".
  void ends(const std::string& why, const LeftProcesses& processes);
  // All state of the session is stored: there is nothing that the end of the box could take.
  void rests();

 private:
  explicit LossRecord(int file_fd) : file_fd_(file_fd) {}

  void write(const std::string& why = {}, const LeftProcesses& processes = {}) const;

  int file_fd_;
  bool has_ended_ = false;
  std::set<Language> used_;
  std::vector<std::string> runs_;  // that are on in the background
  std::set<Language> lost_;
  std::vector<std::string> lost_runs_;
  std::string lost_processes_;  // in words
  std::string why_lost_;
};

}  // namespace sandbox::box
