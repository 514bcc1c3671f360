// hutch environments: a program of Python, tools/environments, takes the place of this one.
#include <signal.h>
#include <unistd.h>

#include "tools/cli/commands.h"

namespace tools::cli {

using base::Error;

base::Result<int> run_environments(const Settings& settings,
                                   const std::vector<std::string>& arguments) {
  const auto config = TRY(sandbox_config(settings));
  std::vector<std::string> words = {"/usr/bin/python3", "-B",
                                    config.data_directory + "/environments/environments.py",
                                    "--directory", settings.environments_directory};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  // The program would go on ignoring the signals that this process ignores, and never hear of its
  // children.
  for (const int number : {SIGCHLD, SIGPIPE}) (void)::signal(number, SIG_DFL);
  (void)::execv(pointers[0], pointers.data());
  return Error::from_errno("start " + words[0] + ", which hutch environments needs");
}

}  // namespace tools::cli
