// Text that is not UTF-8.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tools/mcp/charset.h"

namespace {

using tools::charset_of;
using tools::decoded;
using tools::possible_charsets_of;

using namespace std::string_literals;

TEST(Charset, IsKnownByWhatAFileBeginsWith) {
  EXPECT_EQ(charset_of("\xff\xfe"s + "a\0"s), "utf-16le");
  EXPECT_EQ(charset_of("\xfe\xff"s + "\0a"s), "utf-16be");
  EXPECT_EQ(charset_of("caf\xe9 \x80 5, na\xefve"), "cp1252");
  for (const std::string& none :
       {""s,
        "\x7f"
        "ELF\x02\x01"s,
        "a\0b\xe9"s, "\xe9\xe8\xe7\xe6"s, "\x89PNG\r\n\x1a\n"s, "\x1f\x8b\x08"s}) {
    EXPECT_FALSE(charset_of(none)) << testing::PrintToString(none);
  }
}

TEST(Charset, IsWideWithoutAMarkWhereMostLettersAreLatin) {
  const std::string text = "id;name\r\n7;caf\xe9\r\n";
  std::string little;
  std::string big;
  for (const char letter : text) {
    little += std::string{letter, '\0'};
    big += std::string{'\0', letter};
  }
  EXPECT_EQ(charset_of(little), "utf-16le");
  EXPECT_EQ(charset_of(big), "utf-16be");
  std::size_t used = 0;
  EXPECT_EQ(decoded("utf-16le", little, 0, used), "id;name\r\n7;café\r\n");
  EXPECT_EQ(decoded("utf-16be", big, 0, used), "id;name\r\n7;café\r\n");
  EXPECT_EQ(charset_of(little + "\xac\x20"s), "utf-16le") << "and a sign of money";
  std::string numbers;  // Each takes two bytes.
  for (char number = 1; number < 60; ++number) numbers += std::string{number, '\0'};
  for (const std::string& none :
       {numbers, std::string(40, '\0'), "a\0b\0c\0"s, "\0\0\0a\0\0\0b"s}) {
    EXPECT_FALSE(charset_of(none)) << testing::PrintToString(none);
  }
}

TEST(Charset, OfAShortTextIsNotWestern) {
  for (const char* eastern :
       {"name,city\n1,\xb1\xb1\xbe\xa9\n2,\xc9\xcf\xba\xa3\n",      // GBK
        "hello \xca\xc0\xbd\xe7\xa3\xac and much more of English",  // GBK, with a comma
        "name\n\xbc\xad\xbf\xef\nand more\n",                       // EUC-KR
        "\x82\xb1\x82\xf1\x82\xc9 and some more words",             // Shift-JIS
        "\x83\x65\x83\x58\x83\x67 and more words of it"}) {
    EXPECT_FALSE(charset_of(eastern)) << eastern;
    EXPECT_FALSE(possible_charsets_of(eastern).empty()) << eastern;
  }
  for (const char* western : {"Gr\xf6\xdf"
                              "e of all",
                              "cr\xe9\xe9"
                              "e par",
                              "20\xb0"
                              "C, 30\xb0"
                              "C",
                              "\xab\xc9"
                              "cole\xbb o\xf9 elle est",
                              "\x93Hello\x94 \x96 \x82Wort\x91", "\xc4\xd6 and"}) {
    EXPECT_EQ(charset_of(western), "cp1252") << western;
  }
  EXPECT_EQ(possible_charsets_of("1,\xb1\xb1\xbe\xa9\n").front(), "gb18030");
  EXPECT_EQ(possible_charsets_of("\x82\xb1\x82\xf1\n").front(), "shift_jis");
}

TEST(Charset, OfAsiaIsKnownByItsCommonestCharacters) {
  const std::string korean =  // 이름,금액 김철수,서울 이영희,부산
      "\xc0\xcc\xb8\xa7,\xb1\xdd\xbe\xd7\n\xb1\xe8\xc3\xb6\xbc\xf6,\xbc\xad\xbf\xef\n"
      "\xc0\xcc\xbf\xb5\xc8\xf1,\xba\xce\xbb\xea\n";
  EXPECT_EQ(possible_charsets_of(korean).front(), "cp949");
  const std::string rare =
      "\xbb\xf3\xc7\xb0\xb8\xed,\xb0\xa1\xb0\xdd\n\x8c\x63\xb9\xe6\xb0\xa2\xc7\xcf,10\n";
  EXPECT_EQ(possible_charsets_of(rare).front(), "cp949") << "상품명,가격 똠방각하";
  const std::string big5 = "\xa9m\xa6W,\xaa\xf7\xc3\x42\n\xb1i\xa4T,100\n\xa7\xf5\xa5|,200\n";
  EXPECT_EQ(possible_charsets_of(big5).front(), "big5") << "姓名,金額 張三 李四";
  const std::string japanese = "\xa4\xb3\xa4\xec\xa4\xcf\xc6\xfc\xcb\xdc\xb8\xec\xa4\xc7\xa4\xb9\n";
  EXPECT_EQ(possible_charsets_of(japanese).front(), "euc_jp") << "これは日本語です";
  const std::string chinese = "\xd5\xe2\xca\xc7\xd2\xbb\xb8\xf6\xb2\xe2\xca\xd4\xce\xc4\xbc\xfe\n";
  EXPECT_EQ(possible_charsets_of(chinese).front(), "gb18030") << "这是一个测试文件";
}

TEST(Charset, OfNearlyUtf8IsUtf8) {
  for (const char* damaged : {"J\xc3\xbcrgen Gr\xc3\xb6\xc3\x9f"
                              "er\nRen\xe9\n",
                              "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e \xff\n"}) {
    EXPECT_EQ(charset_of(damaged), "utf-8") << damaged;
    std::size_t used = 0;
    const auto text = decoded("utf-8", damaged, 0, used);
    ASSERT_TRUE(text.has_value());
    EXPECT_EQ(used, std::string(damaged).size());
    EXPECT_NE(text->find("\xef\xbf\xbd"), std::string::npos);
  }
  EXPECT_EQ(charset_of("caf\xe9 and Gr\xc3\xb6"), "cp1252") << "as much is wrong as is right";
}

TEST(Charset, OfAnotherAlphabetIsNotWestern) {
  const std::string russian =
      "id;Name\n1;\xc4\xe0\xf2\xe0 \xca\xeb\xe8\xe5\xed\xf2 and 12345678901234567890\n";
  EXPECT_FALSE(charset_of(russian));
  EXPECT_EQ(possible_charsets_of(russian).front(), "cp1251");
  const std::string koi8 = "\xe4\xc1\xd4\xc1 \xeb\xcc\xc9\xc5\xce\xd4 1234567890 1234567890\n";
  EXPECT_FALSE(charset_of(koi8));
  EXPECT_EQ(possible_charsets_of(koi8).front(), "koi8_r");
  const std::string greek =
      "\xca\xe1\xeb\xe7\xec\xdd\xf1\xe1 \xea\xfc\xf3\xec\xe5 1234567890 1234567890\n";
  EXPECT_FALSE(charset_of(greek));
  EXPECT_EQ(possible_charsets_of(greek).front(), "cp1253");
  EXPECT_EQ(possible_charsets_of("caf\xe9, na\xefve and 1234567890\n").front(), "cp1252");
  // No charset has the byte in the middle but that of Central Europe.
  EXPECT_EQ(possible_charsets_of("Plze\xf2, mlad\x9d, 1234567890 1234567890\n").front(), "cp1250");
}

TEST(Charset, MayBeOneOfEastAsia) {
  const auto japanese = possible_charsets_of("\x93\xfa\x96\x7b\x8c\xea\x0a");
  EXPECT_EQ(std::count(japanese.begin(), japanese.end(), "shift_jis"), 1);
  const auto chinese = possible_charsets_of("\xc4\xe3\xba\xc3\xca\xc0\xbd\xe7\x0a");
  EXPECT_EQ(std::count(chinese.begin(), chinese.end(), "gb18030"), 1);
  EXPECT_TRUE(possible_charsets_of("\x89PNG\r\n\x1a\n").empty());
  EXPECT_TRUE(possible_charsets_of("\xff\x81\xff\x8d\xff").empty()) << "of none of them";
}

TEST(Charset, BecomesUtf8) {
  std::size_t used = 0;
  EXPECT_EQ(decoded("cp1252", "caf\xe9 \x80", 0, used), "café €");
  EXPECT_EQ(used, 6U);
  EXPECT_EQ(decoded("utf-16le", "\xff\xfe"s + "a\0\xac\x20"s, 0, used), "a€");
  EXPECT_EQ(used, 6U);
  EXPECT_EQ(decoded("utf-16be", "\xfe\xff"s + "\0a\x20\xac"s, 0, used), "a€");
  EXPECT_FALSE(decoded("cp1252", "a\x81", 0, used)) << "no character of it";
}

// Pieces of any size are together what the whole is.
TEST(Charset, PiecesJoin) {
  const std::string whole = "\xff\xfe"s +
                            "a\0\x3d\xd8\x00\xde"
                            "b\0"s;  // a, U+1F600, b
  for (std::size_t size = 4; size <= whole.size(); ++size) {
    std::string text;
    for (std::size_t at = 0; at < whole.size();) {
      std::size_t used = 0;
      const auto piece = decoded("utf-16le", whole.substr(at, size), at, used);
      ASSERT_TRUE(piece && used > 0) << size << " at " << at;
      text += *piece;
      at += used;
    }
    EXPECT_EQ(text, "a😀b") << size;
  }
}

}  // namespace
