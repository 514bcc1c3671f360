// Commands print through this where their output is a terminal. Pipes and files get the bytes.
#pragma once

#include <iostream>
#include <memory>
#include <streambuf>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tools/cli/terminal_text.h"

namespace tools::cli {

// Standard output and standard error lead to one and the same, or one of them does.
struct Screen {
  // A sandbox's output has left them so; hutch's next words begin a line, in their own colours.
  bool has_open_line = false;
  bool is_coloured = false;
};

// Takes the place of a stream's own buffer. Words of hutch's pass as TerminalText, too: names and
// reasons in them come from sandboxes, clients and hosts.
class TerminalBuffer : public std::streambuf {
 public:
  TerminalBuffer(int fd, Screen& screen) : fd_(fd), screen_(screen) {}

  bool print_of_sandbox(std::string_view bytes);
  // Says that nothing of a sandbox's follows: bytes that wait are shown, and colours end.
  bool end_of_sandbox();

 protected:
  int_type overflow(int_type byte) override;
  std::streamsize xsputn(const char* bytes, std::streamsize size) override;
  int sync() override;

 private:
  const int fd_;
  Screen& screen_;
  TerminalText own_{TerminalText::Returns::kShow};
  TerminalText of_sandbox_{TerminalText::Returns::kPass};
  std::string said_;
};

// Until it goes, std::cout and std::cerr print as terminals may be printed on, each where it is
// one.
class Terminals {
 public:
  Terminals();
  ~Terminals();
  Terminals(const Terminals&) = delete;
  Terminals& operator=(const Terminals&) = delete;

 private:
  static std::unique_ptr<TerminalBuffer> put_before(std::ostream& stream, int fd, Screen& screen,
                                                    std::streambuf*& before);

  Screen screen_;
  std::streambuf* output_before_ = nullptr;
  std::streambuf* errors_before_ = nullptr;
  std::unique_ptr<TerminalBuffer> output_;
  std::unique_ptr<TerminalBuffer> errors_;
};

// Prints to `stream`, std::cout or std::cerr. Lost bytes make it fail, which main() tells of.
base::Status print_of_sandbox(std::ostream& stream, std::string_view bytes);
void end_of_sandbox(std::ostream& stream);

// Says one line of hutch's own on standard error, whatever the text holds.
void tell(std::string_view text);

}  // namespace tools::cli
