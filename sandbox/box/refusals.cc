#include "sandbox/box/refusals.h"

#include <algorithm>
#include <iterator>

namespace sandbox::box {
namespace {

// As Python and node begin the message.
constexpr std::string_view kTooLargeErrors[] = {"[Errno 27]", "EFBIG:"};
constexpr std::string_view kDiskErrors[] = {"[Errno 28]", "[Errno 122]", "ENOSPC:", "EDQUOT:"};
// strerror(3), SQLite, and node, which has no word for EDQUOT.
constexpr std::string_view kDiskWords[] = {"File too large", "No space left on device",
                                           "Disk quota exceeded", "disk is full",
                                           "UNKNOWN: unknown error, write"};
constexpr std::string_view kTryAgain[] = {"Resource temporarily unavailable", "EAGAIN"};
// A socket that has nothing to read says the same: what was called tells them apart.
constexpr std::string_view kForks[] = {"fork", "_execute_child", "spawn"};

// strerror(3), C++, xalloc, gcc, Go, Java, and node for buffers and WebAssembly.
constexpr std::string_view kMemoryWords[] = {
    "Cannot allocate memory",         "std::bad_alloc",           "memory exhausted",
    "out of memory allocating",       "runtime: out of memory",   "java.lang.OutOfMemoryError",
    "Array buffer allocation failed", "could not allocate memory"};
// Exceptions of Python and its libraries, as numpy._core._exceptions._ArrayMemoryError, and
// DuckDB's.
constexpr std::string_view kMemoryExceptions[] = {"MemoryError", "OutOfMemoryException"};
// A process of node's, and a thread of its worker_threads.
constexpr std::string_view kHeapWords[] = {"JavaScript heap out of memory",
                                           "JS heap out of memory"};

// glibc, curl, node and pip.
constexpr std::string_view kNoNetworkWords[] = {"Temporary failure in name resolution",
                                                "Network is unreachable",
                                                "EAI_AGAIN",
                                                "ENETUNREACH",
                                                "Could not resolve host",
                                                "Could not resolve 'http",
                                                "(from versions: none)"};

constexpr std::string_view kUnreachableWords[] = {"Network is unreachable", "ENETUNREACH"};
constexpr std::string_view kRefusedWords[] = {"Connection refused", "ECONNREFUSED",
                                              "Couldn't connect to server"};
constexpr std::string_view kOwnHost[] = {"localhost", "127.0.0.1", "::1", "ECONNREFUSED 127."};

template <std::size_t kCount>
bool has_any(std::string_view text, const std::string_view (&words)[kCount]) {
  return std::any_of(std::begin(words), std::end(words), [text](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

// Returns whether a line begins with the exception: its name, with that of its module before it.
bool has_line_of(std::string_view exception, std::string_view text) {
  for (std::size_t at = text.find(exception); at != text.npos; at = text.find(exception, at + 1)) {
    const std::string_view before = text.substr(0, at);
    const std::string_view module = before.substr(before.find_last_of('\n') + 1);
    const std::string_view behind = text.substr(at + exception.size());
    const bool ends = behind.empty() || behind[0] == ':' || behind[0] == '\n';
    if (ends && module.find(' ') == module.npos) return true;
  }
  return false;
}

}  // namespace

bool tells_of_refused_memory(std::string_view text) {
  return has_any(text, kMemoryWords) ||
         std::any_of(std::begin(kMemoryExceptions), std::end(kMemoryExceptions),
                     [text](std::string_view exception) { return has_line_of(exception, text); });
}

bool tells_of_refused_shadow(std::string_view text) {
  return text.find("Sanitizer failed to allocate 0x") != std::string_view::npos;
}

bool tells_of_full_heap(std::string_view text) { return has_any(text, kHeapWords); }

bool tells_of_refused_fork(std::string_view text) {
  if (text.find("can't start new thread") != std::string_view::npos) return true;
  return has_any(text, kTryAgain) && has_any(text, kForks);
}

bool tells_of_full_disk(std::string_view text) {
  return has_any(text, kDiskErrors) || has_any(text, kDiskWords);
}

bool tells_of_no_network(std::string_view text) { return has_any(text, kNoNetworkWords); }

bool tells_of_unreachable_address(std::string_view text) {
  return has_any(text, kUnreachableWords);
}

bool tells_of_closed_port(std::string_view text) {
  return has_any(text, kRefusedWords) && !has_any(text, kOwnHost);
}

bool is_too_large_error(std::string_view message) {
  return std::any_of(std::begin(kTooLargeErrors), std::end(kTooLargeErrors),
                     [message](std::string_view start) { return message.starts_with(start); });
}

}  // namespace sandbox::box
