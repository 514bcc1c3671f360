// Where the files of a session lie on the host: the one place that knows their names.
//
//     <state directory>/sessions/<session>/{workspace,home,tmp}   as its code has them
//                                         /runs/<run>/            output and record of a run
//                                         /calls/<run>            what an API keeps of a run
#pragma once

#include <string>
#include <utility>

namespace sessions {

class SessionDirectory {
 public:
  SessionDirectory(const std::string& state_directory, const std::string& session_id)
      : path_(state_directory + "/sessions/" + session_id) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string runs() const { return path_ + "/runs"; }
  [[nodiscard]] std::string run(const std::string& run_id) const { return runs() + "/" + run_id; }
  [[nodiscard]] std::string record(const std::string& run_id) const {
    return run(run_id) + "/record.json";
  }
  [[nodiscard]] std::string calls() const { return path_ + "/calls"; }

 private:
  std::string path_;
};

}  // namespace sessions
