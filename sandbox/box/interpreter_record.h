// An InterpreterRecord says which languages of the session have state: what a box that has ended
// took with it, the next one says to the next run. It is kept in the session's lock file, which
// every owner has open.
#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "sandbox/run.h"

namespace sandbox::box {

class InterpreterRecord {
 public:
  // Reads what the box before has left. `file_fd` is borrowed.
  static base::Result<InterpreterRecord> open(int file_fd);

  // Returns what the session has lost since its last run, in words; empty when that is nothing.
  // State of the languages in `stored` outlived its process.
  [[nodiscard]] std::string loss(const std::set<Language>& stored) const;

  // Returns whether the box has had a run of an interpreter.
  [[nodiscard]] bool is_used() const { return !used_.empty(); }
  // A run begins: it is told of the loss, and what it makes can be lost.
  void begins(const Run& run);
  // The box ends. `why` fits behind "because".
  void ends(const std::string& why) const;
  // All state of the session is stored: there is nothing that the end of the box could take.
  void rests();

 private:
  explicit InterpreterRecord(int file_fd) : file_fd_(file_fd) {}

  void write(const std::string& why) const;

  int file_fd_;
  std::set<Language> used_;
  std::set<Language> lost_;
  std::string why_lost_;
};

}  // namespace sandbox::box
