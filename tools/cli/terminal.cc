#include "tools/cli/terminal.h"

#include <unistd.h>

#include "base/fd.h"
#include "tools/text_window.h"

namespace tools::cli {
namespace {

constexpr std::size_t kSaidBytesMax = 64 * 1024;

int descriptor_of(const std::ostream& stream) {
  return &stream == &std::cerr ? STDERR_FILENO : STDOUT_FILENO;
}

}  // namespace

bool TerminalBuffer::print_of_sandbox(std::string_view bytes) {
  if (sync() != 0) return false;
  const std::string shown = of_sandbox_.take(bytes);
  if (!shown.empty()) screen_.has_open_line = shown.back() != '\n';
  if (of_sandbox_.is_coloured()) screen_.is_coloured = true;
  return base::write_all(fd_, shown).ok();
}

bool TerminalBuffer::end_of_sandbox() {
  std::string shown = of_sandbox_.rest();
  if (!shown.empty()) screen_.has_open_line = true;
  if (screen_.is_coloured) shown += kNoColours;
  screen_.is_coloured = false;
  return base::write_all(fd_, shown).ok();
}

TerminalBuffer::int_type TerminalBuffer::overflow(int_type byte) {
  if (traits_type::eq_int_type(byte, traits_type::eof())) return traits_type::not_eof(byte);
  const char one = traits_type::to_char_type(byte);
  return xsputn(&one, 1) == 1 ? byte : traits_type::eof();
}

std::streamsize TerminalBuffer::xsputn(const char* bytes, std::streamsize size) {
  said_.append(bytes, static_cast<std::size_t>(size));
  return said_.size() < kSaidBytesMax || sync() == 0 ? size : 0;
}

int TerminalBuffer::sync() {
  if (said_.empty()) return 0;
  if (!end_of_sandbox()) return -1;
  std::string shown = screen_.has_open_line ? "\n" : "";
  screen_.has_open_line = false;
  shown += own_.take(said_);
  said_.clear();
  return base::write_all(fd_, shown).ok() ? 0 : -1;
}

Terminals::Terminals()
    : output_(put_before(std::cout, STDOUT_FILENO, screen_, output_before_)),
      errors_(put_before(std::cerr, STDERR_FILENO, screen_, errors_before_)) {}

Terminals::~Terminals() {
  for (std::ostream* stream : {&std::cout, &std::cerr}) {
    stream->flush();
    end_of_sandbox(*stream);
  }
  if (output_) std::cout.rdbuf(output_before_);
  if (errors_) std::cerr.rdbuf(errors_before_);
}

std::unique_ptr<TerminalBuffer> Terminals::put_before(std::ostream& stream, int fd, Screen& screen,
                                                      std::streambuf*& before) {
  if (::isatty(fd) != 1) return nullptr;
  auto buffer = std::make_unique<TerminalBuffer>(fd, screen);
  before = stream.rdbuf(buffer.get());
  return buffer;
}

base::Status print_of_sandbox(std::ostream& stream, std::string_view bytes) {
  if (auto* const terminal = dynamic_cast<TerminalBuffer*>(stream.rdbuf())) {
    if (terminal->print_of_sandbox(bytes)) return base::done();
    stream.setstate(std::ios::badbit);
    return base::error(base::Error::Kind::kUnavailable, "the terminal has gone");
  }
  stream.flush();
  auto printed = base::write_all(descriptor_of(stream), bytes);
  if (!printed.ok()) stream.setstate(std::ios::badbit);
  return printed;
}

void end_of_sandbox(std::ostream& stream) {
  if (auto* const terminal = dynamic_cast<TerminalBuffer*>(stream.rdbuf())) {
    if (!terminal->end_of_sandbox()) stream.setstate(std::ios::badbit);
  }
}

void tell(std::string_view text) { std::cerr << "hutch: " << one_line(to_utf8(text)) << "\n"; }

}  // namespace tools::cli
