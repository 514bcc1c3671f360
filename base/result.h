// Errors as values. `Result<T>` holds a T or an Error; `Status` is a Result without a value.
//
// An Error means "hutch could not do it". How the user's code ended is never an Error, and a
// malformed client message is a JSON-RPC error, not one of these.
#pragma once

#include <cerrno>
#include <string>
#include <utility>
#include <variant>

namespace base {

struct Error {
  enum class Kind {
    kInvalid,      // the caller's argument is wrong; the message names what would be right
    kNotFound,     // no such session, run, file
    kLimit,        // a quota or limit says no
    kConflict,     // it exists already, or is in a state that forbids this
    kUnsupported,  // this host or build cannot do it
    kUnavailable,  // not now; trying again may work
    kCapacity,     // the machine is at a limit of its own; trying again in some seconds may work
    kInternal,     // ours
  };

  // Lack says what the caller could be given, where the lack of it is why.
  enum class Lack { kNothing, kHostFolder };

  Kind kind = Kind::kInternal;
  int os_errno = 0;  // 0 when no system call is behind it
  std::string message;
  Lack lack = Lack::kNothing;

  // Reads errno at once, so call it before anything else can change it.
  static Error from_errno(std::string what, Kind kind = Kind::kInternal);

  // Puts the larger task in front: "start box: mount /proc: Operation not permitted".
  Error context(const std::string& what) &&;
};

// Makes an Error without a system call behind it.
Error error(Error::Kind kind, std::string message);
// Makes one that is kInvalid.
Error invalid(std::string message);

struct Unit {};

template <typename T = Unit>
class [[nodiscard]] Result {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): `return value;` is the point of the type.
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): so is `return error(...);`.
  Result(Error failure) : state_(std::in_place_index<1>, std::move(failure)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }

  // REQUIRES: ok().
  [[nodiscard]] const T& value() const& { return std::get<0>(state_); }
  [[nodiscard]] T& value() & { return std::get<0>(state_); }
  // Returns by value: a reference into a temporary would not outlive the statement.
  [[nodiscard]] T value() && { return std::get<0>(std::move(state_)); }

  // REQUIRES: !ok().
  [[nodiscard]] const Error& error() const& { return std::get<1>(state_); }
  [[nodiscard]] Error error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

using Status = Result<Unit>;

// Returns the successful Status.
inline Status done() { return Unit{}; }

// Returns the value that TRY ends with. Unlike a Result it may be discarded, as where TRY is a
// statement.
template <typename T>
T take(Result<T>&& result) {
  return std::move(result).value();
}

}  // namespace base

// Takes the value out of a Result, or returns its Error from the enclosing function.
// One per statement (a TRY inside a TRY shadows its variable), none in a braced list: tests/tidy.
#define TRY(expression)                                           \
  __extension__({                                                 \
    auto try_result_ = (expression);                              \
    if (!try_result_.ok()) return std::move(try_result_).error(); \
    ::base::take(std::move(try_result_));                         \
  })
