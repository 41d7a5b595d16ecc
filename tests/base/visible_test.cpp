// What files say never moves a cursor.
#include "base/visible.h"

#include <doctest/doctest.h>

using namespace vramplan;

TEST_CASE("control characters are written out, text is not changed") {
  CHECK(visible("plain\ttext\nof ä, 漢, 🦙 and █") == "plain\ttext\nof ä, 漢, 🦙 and █");
  CHECK(visible("\x1b[31mred") == "\\u001b[31mred");
  CHECK(visible(std::string("a\0b\x7f\r", 5)) == "a\\u0000b\\u007f\\u000d");
  CHECK(visible("\xC2\x9B"
                "31m") == "\\u009b31m");  // CSI in one character
  CHECK(visible("\xE2\x80\xAE"
                "abc\xE2\x81\xA6") == "\\u202eabc\\u2066");
  CHECK(visible_word("a\nb\tc") == "a\\u000ab\\u0009c");
}

TEST_CASE("what is no UTF-8 becomes the replacement character") {
  const std::string gone = "\xEF\xBF\xBD";
  CHECK(visible("\xff\x9b") == gone + gone);
  CHECK(visible("\xC0\xAF") == gone + gone);             // too long for '/'
  CHECK(visible("\xED\xA0\x80") == gone + gone + gone);  // half of a pair
  CHECK(visible("\xF0\x9F\xA6") == gone + gone + gone);  // cut off
  for (const char* good : {"", "abc", "\xC3\xA4", "\xF4\x8F\xBF\xBF"}) CHECK(is_utf8(good));
  for (const char* bad : {"\x80", "\xC3", "\xF4\x90\x80\x80"}) CHECK_FALSE(is_utf8(bad));
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; ++b) CHECK(is_utf8(visible(std::string{static_cast<char>(a), static_cast<char>(b)})));
}
