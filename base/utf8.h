// Text as the bytes of UTF-8. https://www.rfc-editor.org/rfc/rfc3629
#pragma once

namespace base {

// Returns whether the byte does not begin a character but goes on with one.
constexpr bool continues_character(char byte) noexcept {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

}  // namespace base
