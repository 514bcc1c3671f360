#include "base/result.h"

#include <cstring>

namespace base {

Error Error::from_errno(std::string what, Kind kind) {
  const int saved = errno;
  // strerror() may share a buffer between threads; strerrordesc_np() returns constants.
  const char* text = strerrordesc_np(saved);
  what += ": ";
  what += text != nullptr ? text : ("errno " + std::to_string(saved)).c_str();
  return Error{kind, saved, std::move(what)};
}

Error Error::context(const std::string& what) && {
  message = what + ": " + message;
  return std::move(*this);
}

Error error(Error::Kind kind, std::string message) { return Error{kind, 0, std::move(message)}; }

Error invalid(std::string message) { return error(Error::Kind::kInvalid, std::move(message)); }

}  // namespace base
