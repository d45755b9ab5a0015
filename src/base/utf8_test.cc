#include "base/utf8.h"

#include <gtest/gtest.h>

namespace pliant {
namespace {

TEST(utf8, text_stays) {
  for (const char* text : {"", "batch", "größe", "形状", "😀", "\x7f", "a\nb", "\xef\xbf\xbd", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_text(text)) << text;
    EXPECT_EQ(to_text(text), text);
  }
}

TEST(utf8, other_bytes_are_escaped) {
  EXPECT_EQ(to_text(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(to_text("caf\xe9"), "caf\\xe9");
  EXPECT_EQ(to_text("\xff\xfe!"), "\\xff\\xfe!");
  EXPECT_EQ(to_text("\xc0\x80"), "\\xc0\\x80") << "overlong";
  EXPECT_EQ(to_text("\xe0\x9f\xbf"), "\\xe0\\x9f\\xbf") << "overlong";
  EXPECT_EQ(to_text("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(to_text("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond the last character";
  EXPECT_EQ(to_text("\xe5\xbd"), "\\xe5\\xbd") << "cut short";
}

}  // namespace
}  // namespace pliant
