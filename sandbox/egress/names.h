// The addresses that names have in one box: one after the other, for as long as the session has its
// network. They begin anywhere, so that an address that an earlier door gave is nobody's with this
// one, rather than another name's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace sandbox::egress {

class Names {
 public:
  static constexpr std::size_t kMax = 4096;

  Names();

  // Returns it in host byte order; nothing when there are too many names.
  std::optional<std::uint32_t> address_of(const std::string& host);
  // Returns nothing for an address that no name has.
  [[nodiscard]] std::optional<std::string> name_of(std::uint32_t address) const;

 private:
  std::uint32_t first_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<std::string> names_;
};

// Returns whether it is one that names are given.
bool is_given_address(std::uint32_t address);

}  // namespace sandbox::egress
