#include "tools/mcp/charset.h"

#include <iconv.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "tools/text_window.h"

namespace tools {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

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

std::uint8_t byte_at(std::string_view text, std::size_t place) {
  return place < text.size() ? static_cast<std::uint8_t>(text[place]) : std::uint8_t{0};
}

// Returns whether all bytes beyond ASCII stand in pairs, as GB18030 and the EUCs have them, and
// most of these are among the commonest characters. Letters of Latin alphabets seldom stand in
// twos, and hardly ever all of a text.
bool is_in_pairs(std::string_view text) {
  constexpr std::size_t kRareOneIn = 4;
  std::size_t pairs = 0;
  std::size_t rare = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_beyond_ascii(text[i])) continue;
    const std::uint8_t first = byte_at(text, i);
    if (++i == text.size()) break;  // the half of one
    if (first < 0xa1 || first > 0xf7 || byte_at(text, i) < 0xa1) return false;
    ++pairs;
    if (first > 0xd7) ++rare;
  }
  return pairs >= 2 && rare * kRareOneIn <= pairs;
}

// Returns whether there are characters of Japan's syllables in Shift-JIS, whose first bytes are
// signs in cp1252 that nobody types.
bool has_kana(std::string_view text) {
  std::size_t kana = 0;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    const std::uint8_t first = byte_at(text, i);
    const std::uint8_t second = byte_at(text, i + 1);
    const bool is_hiragana = first == 0x82 && second >= 0x9f && second <= 0xf1;
    const bool is_katakana = first == 0x83 && second >= 0x40 && second <= 0x96;
    if (is_hiragana || is_katakana) ++kana;
    if ((first >= 0x81 && first <= 0x9f) || (first >= 0xe0 && first <= 0xfc)) ++i;
  }
  return kana >= 2;
}

// Counts characters of two bytes by what they would be in the encodings of Asia.
struct Pairs {
  std::size_t letters = 0;  // all but signs, which are the same in all of these
  std::size_t korean = 0;
  std::size_t rare_korean = 0;  // that UHC has beyond EUC-KR
  std::size_t big5 = 0;         // its commonest
  std::size_t low = 0;          // that end with a byte of ASCII
  std::size_t kana = 0;         // as EUC-JP has it
};

bool is_behind_rare_korean(std::uint8_t byte) {
  return (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a) ||
         (byte >= 0x81 && byte <= 0xa0);
}

Pairs pairs_of(std::string_view text) {
  Pairs pairs;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    const std::uint8_t first = byte_at(text, i);
    const std::uint8_t second = byte_at(text, i + 1);
    if (first < 0x81 || first == 0xff || second < 0x40 || second == 0xff) continue;
    ++i;
    const bool is_high = second >= 0xa1;
    if (first >= 0xa1 && first <= 0xa3 && is_high) continue;
    const bool is_low = second <= 0x7e;
    ++pairs.letters;
    if (first >= 0xb0 && first <= 0xc8 && is_high) ++pairs.korean;
    const bool is_rare = first <= 0xc6 && is_behind_rare_korean(second);
    if (is_rare || (first <= 0xa0 && is_high)) ++pairs.rare_korean;
    if (first >= 0xa4 && first <= 0xc6 && (is_high || is_low)) ++pairs.big5;
    if (is_low) ++pairs.low;
    if (first >= 0xa4 && first <= 0xa5 && is_high) ++pairs.kana;
  }
  return pairs;
}

// Returns the encoding whose commonest characters nearly all of them are; an empty name where that
// is none of these, or there are few.
std::string likely_of_pairs(std::string_view text) {
  constexpr std::size_t kKoreanLeast = 8;
  constexpr std::size_t kBig5Least = 4;
  constexpr std::size_t kKanaLeast = 2;
  const Pairs pairs = pairs_of(text);
  const auto are_nearly_all = [&](std::size_t count) { return count * 20 >= pairs.letters * 19; };
  if (pairs.letters >= kKoreanLeast && are_nearly_all(pairs.korean + pairs.rare_korean) &&
      pairs.rare_korean * 5 <= pairs.letters) {
    return "cp949";
  }
  if (pairs.letters >= kBig5Least && are_nearly_all(pairs.big5) &&
      pairs.low * 10 >= pairs.letters) {
    return "big5";
  }
  const bool is_japanese = pairs.kana >= kKanaLeast && pairs.kana * 5 >= pairs.letters;
  return is_japanese && pairs.low == 0 ? "euc_jp" : "";
}

// Returns whether there are characters of UTF-8, and hardly any byte that is of none.
bool is_nearly_utf8(std::string_view text) {
  constexpr std::size_t kRightForOneWrong = 2;
  const std::string shown = to_utf8(text.substr(0, whole_characters(text, text.size())));
  std::size_t wrong = 0;
  for (std::size_t at = shown.find(kReplacement); at != std::string::npos;
       at = shown.find(kReplacement, at + 1)) {
    ++wrong;
  }
  const auto shown_ones = std::count_if(shown.begin(), shown.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0U) == 0xc0U;  // the first byte of one
  });
  const std::size_t right = static_cast<std::size_t>(shown_ones) - wrong;
  return right > 0 && wrong * kRightForOneWrong <= right;
}

// Counts letters beyond ASCII that stand in words of their own, as those of Cyrillic and Greek do.
struct Letters {
  std::size_t first_half = 0;   // 0xc0 to 0xdf: capitals, but for KOI8
  std::size_t second_half = 0;  // 0xe0 to 0xff
  std::size_t accents = 0;      // Greek ones, which are capitals of others, in the middle of words
};

std::optional<Letters> letters_of_words(std::string_view text) {
  constexpr std::size_t kWordLeast = 3;
  constexpr std::size_t kWordsLeast = 2;
  constexpr std::size_t kLettersLeast = 8;  // which no list of umlauts has
  Letters letters;
  std::size_t words = 0;
  std::size_t alone = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t begin = i;
    while (byte_at(text, i) >= 0xc0) ++i;
    const bool is_word = i - begin >= kWordLeast;
    if (!is_word) alone += i - begin;
    if (is_word) ++words;
    for (std::size_t place = begin; is_word && place < i; ++place) {
      const std::uint8_t byte = byte_at(text, place);
      ++(byte < 0xe0 ? letters.first_half : letters.second_half);
      const bool follows_small = place > begin && byte_at(text, place - 1) >= 0xe0;
      if (follows_small && byte >= 0xdc && byte <= 0xdf) ++letters.accents;
    }
  }
  const std::size_t all = letters.first_half + letters.second_half;
  if (words < kWordsLeast || all < kLettersLeast || all <= alone) return std::nullopt;
  return letters;
}

bool are_few_beyond_ascii(std::string_view text) {
  const auto others = std::count_if(text.begin(), text.end(), is_beyond_ascii);
  return static_cast<std::size_t>(others) * kOthersOneIn <= text.size();
}

// Returns candidates, the likeliest first: almost any text makes some sense in several of them.
std::vector<std::string> candidates_for(std::string_view text) {
  const bool is_paired = is_in_pairs(text);
  const bool is_shift_jis = has_kana(text) || !is_paired;
  std::vector<std::string> names;
  if (!is_paired && !has_kana(text)) {
    if (const auto letters = letters_of_words(text)) {
      names = {"cp1251", "koi8_r", "cp1253"};
      if (letters->accents > 0) names = {"cp1253", "cp1251", "koi8_r"};
      if (letters->first_half > letters->second_half) names = {"koi8_r", "cp1251", "cp1253"};
    } else if (are_few_beyond_ascii(text)) {
      names = {"cp1252", "cp1250"};
    }
  }
  const std::string likely = has_kana(text) ? "" : likely_of_pairs(text);
  if (!likely.empty()) names.push_back(likely);
  for (const char* name :
       {is_shift_jis ? "shift_jis" : "gb18030", is_shift_jis ? "gb18030" : "cp949", "big5",
        "euc_jp", is_shift_jis ? "cp949" : "shift_jis"}) {
    if (name != likely) names.emplace_back(name);
  }
  return names;
}

// Returns whether these are units of UTF-16 without a mark, whose high bytes come first or second,
// and most are of Latin letters. Small numbers in binary have bytes among them that no text has.
bool is_wide(std::string_view bytes, bool is_big) {
  constexpr std::size_t kUnitsLeast = 8;
  constexpr std::size_t kWideOnesOneIn = 4;
  constexpr std::uint8_t kBehindControls = 0xa0;  // ISO 8859-1 has controls from 0x80 on.
  std::size_t beyond = 0;
  const std::size_t units = bytes.size() / 2;
  for (std::size_t i = 0; i < units; ++i) {
    const std::uint8_t high = byte_at(bytes, 2 * i + (is_big ? 0 : 1));
    const std::uint8_t low = byte_at(bytes, 2 * i + (is_big ? 1 : 0));
    if (high != 0) {
      ++beyond;
    } else if (!is_plain(static_cast<char>(low)) || (low >= 0x80 && low < kBehindControls)) {
      return false;
    }
  }
  return units >= kUnitsLeast && beyond * kWideOnesOneIn <= units;
}

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
  if (is_wide(beginning, false)) return "utf-16le";
  if (is_wide(beginning, true)) return "utf-16be";
  const bool is_text = std::all_of(beginning.begin(), beginning.end(), is_plain);
  if (!is_text || beginning.empty()) return std::nullopt;
  if (is_nearly_utf8(beginning)) return "utf-8";
  const bool is_other = is_in_pairs(beginning) || has_kana(beginning) ||
                        letters_of_words(beginning) || !are_few_beyond_ascii(beginning);
  return is_other ? std::nullopt : std::optional<std::string>("cp1252");
}

std::vector<std::string> possible_charsets_of(std::string_view beginning) {
  std::vector<std::string> charsets;
  const bool is_text = std::all_of(beginning.begin(), beginning.end(), is_plain);
  if (!is_text || beginning.size() < kWideLeast) return charsets;
  for (const std::string& charset : candidates_for(beginning)) {
    std::string name = charset;
    std::replace(name.begin(), name.end(), '_', '-');
    Converter converter(name);
    std::size_t used = 0;
    if (converter.is_open() && converter.convert(beginning, used)) charsets.push_back(charset);
  }
  return charsets;
}

std::optional<std::string> decoded(const std::string& charset, std::string_view bytes,
                                   std::size_t offset, std::size_t& used) {
  if (charset == "utf-8") {
    used = whole_characters(bytes, bytes.size());
    if (used == 0) used = bytes.size();
    return to_utf8(bytes.substr(0, used));
  }
  const bool is_wide_charset = charset != "cp1252";
  // The mark, which is no part of the text; or the half of a unit that an offset was set into.
  const bool is_marked = bytes.starts_with(kMarkLittle) || bytes.starts_with(kMarkBig);
  std::size_t skipped = 0;
  if (is_wide_charset && offset == 0 && is_marked) skipped = kMarkLittle.size();
  if (is_wide_charset && offset != 0) skipped = std::min<std::size_t>(bytes.size(), offset % 2);
  Converter converter(charset);
  if (!converter.is_open()) return std::nullopt;
  auto text = converter.convert(bytes.substr(skipped), used);
  used += skipped;
  return text;
}

}  // namespace tools
