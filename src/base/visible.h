// Text from files and command lines, made fit for a terminal: what could move the cursor, change colours or turn the
// direction of reading is written out. Everything that a person reads goes through here once, where it is written.
#pragma once
#include <string>
#include <string_view>

namespace vramplan {

/// Control characters (C0 but for tab and line feed, DEL, C1) and those that set the direction of text become \u001b
/// and its like, which JSON reads as the same text; bytes that are not UTF-8 become U+FFFD.
std::string visible(std::string_view text);

/// The same for a word within a line or a file's name: tabs and line feeds too.
std::string visible_word(std::string_view text);

/// Whether all of it is UTF-8.
bool is_utf8(std::string_view text);

}  // namespace vramplan
