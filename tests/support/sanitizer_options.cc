// Linked into every program that is built with sanitizers. Each report goes into a file of its own,
// in a directory that the gate looks into (tests/gate/sanitizer_reports.py): nobody reads the
// standard error of hutch-box, nor looks at its status, and it has no environment that could say
// so.
#define HUTCH_SANITIZER_LOG "log_path='" HUTCH_SANITIZER_LOGS "/report':log_exe_name=1"

extern "C" {
const char* __asan_default_options() { return HUTCH_SANITIZER_LOG; }
const char* __ubsan_default_options() { return HUTCH_SANITIZER_LOG ":print_stacktrace=1"; }
// The first race ends the program, as the other sanitizers do.
const char* __tsan_default_options() {
  return HUTCH_SANITIZER_LOG ":halt_on_error=1:second_deadlock_stack=1";
}
}
