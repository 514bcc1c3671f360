#include "tools/mcp/charset.h"

#include <iconv.h>

#include <algorithm>
#include <cerrno>

namespace tools {
namespace {

constexpr std::string_view kMarkLittle = "\xff\xfe";
constexpr std::string_view kMarkBig = "\xfe\xff";
constexpr std::size_t kWideLeast = 4;  // with one unit of text at least
// A text in a language that is written in Latin letters has few bytes beyond ASCII: where more than
// one in so many is, the bytes are another charset, or no text.
constexpr std::size_t kOthersOneIn = 3;

bool is_plain(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  return value >= 0x20 ? value != 0x7f
                       : byte == '\t' || byte == '\n' || byte == '\r' || byte == '\f';
}

bool is_beyond_ascii(char byte) { return static_cast<unsigned char>(byte) >= 0x80; }

class Converter {
 public:
  explicit Converter(const std::string& charset)
      : handle_(::iconv_open("UTF-8", charset.c_str())) {}
  ~Converter() {
    if (is_open()) ::iconv_close(handle_);
  }
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;

  // NOLINTNEXTLINE: iconv's own mark of a failure
  [[nodiscard]] bool is_open() const { return handle_ != reinterpret_cast<iconv_t>(-1); }

  std::optional<std::string> convert(std::string_view bytes, std::size_t& used) {
    // One unit of any of these charsets becomes three bytes of UTF-8 at most.
    std::string text(bytes.size() * 3, '\0');
    char* from = const_cast<char*>(bytes.data());
    std::size_t from_left = bytes.size();
    char* to = text.data();
    std::size_t to_left = text.size();
    // EINVAL: the end is the beginning of a character.
    const std::size_t failed = ::iconv(handle_, &from, &from_left, &to, &to_left);
    if (failed == static_cast<std::size_t>(-1) && errno != EINVAL) return std::nullopt;
    used = bytes.size() - from_left;
    text.resize(text.size() - to_left);
    return text;
  }

 private:
  iconv_t handle_;
};

}  // namespace

std::optional<std::string> charset_of(std::string_view beginning) {
  if (beginning.size() >= kWideLeast && beginning.starts_with(kMarkLittle)) return "utf-16le";
  if (beginning.size() >= kWideLeast && beginning.starts_with(kMarkBig)) return "utf-16be";
  const auto others = std::count_if(beginning.begin(), beginning.end(), is_beyond_ascii);
  const bool are_few = static_cast<std::size_t>(others) * kOthersOneIn <= beginning.size();
  const bool is_text = std::all_of(beginning.begin(), beginning.end(), is_plain);
  if (!is_text || !are_few || beginning.empty()) return std::nullopt;
  return "cp1252";
}

std::vector<std::string> possible_charsets_of(std::string_view beginning) {
  std::vector<std::string> charsets;
  const bool is_text = std::all_of(beginning.begin(), beginning.end(), is_plain);
  if (!is_text || beginning.size() < kWideLeast) return charsets;
  for (const char* charset : {"shift_jis", "gb18030", "big5", "euc_jp", "euc_kr"}) {
    std::string name = charset;
    std::replace(name.begin(), name.end(), '_', '-');
    Converter converter(name);
    std::size_t used = 0;
    if (converter.is_open() && converter.convert(beginning, used)) charsets.emplace_back(charset);
  }
  return charsets;
}

std::optional<std::string> decoded(const std::string& charset, std::string_view bytes,
                                   std::size_t offset, std::size_t& used) {
  const bool is_wide = charset != "cp1252";
  // The mark, which is no part of the text; or the half of a unit that an offset was set into.
  std::size_t skipped = 0;
  if (is_wide) skipped = std::min(bytes.size(), offset == 0 ? kMarkLittle.size() : offset % 2);
  Converter converter(charset);
  if (!converter.is_open()) return std::nullopt;
  auto text = converter.convert(bytes.substr(skipped), used);
  used += skipped;
  return text;
}

}  // namespace tools
