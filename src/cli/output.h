// All that a command writes: standard output, standard error and the files beside them. Text is made fit for a terminal
// here, and nothing is lost in silence: what cannot be written is an error with its reason.
#pragma once
#include <string>
#include <string_view>

#include "cli/command.h"

namespace vramplan {

/// Thrown when standard output cannot be written: the reason can only go to standard error.
struct OutputError : UserError {
  explicit OutputError(int error);
};

/// Descriptors 0 to 2 that were closed before the start stay unusable, but their numbers are taken: a file that is
/// opened later is never taken for standard output.
void reserve_standard_streams();

/// On standard output, control characters written out. Throws OutputError.
void print(std::string_view text);
/// The same of text whose writer has done that, and added colours.
void print_painted(std::string_view text);
/// On standard error, control characters written out. Never fails: there is nobody left to tell.
void tell(std::string_view text);
/// Everything printed until now is handed to the system. Throws OutputError.
void finish_output();

/// A text as a file, whole or not at all, and a line that says so on standard error; "-" and /dev/stdout are standard
/// output. Throws UserError.
void write_output(const Context& context, const std::string& path, const std::string& text);
/// The same of bytes that are no text.
void write_bytes(const Context& context, const std::string& path, const std::string& bytes);
/// Before a long run: throws UserError when `write_output` would.
void check_output(const std::string& path);
/// At the end of a file, which is made where there is none. Throws UserError.
void append_to(const std::string& path, const std::string& text);

}  // namespace vramplan
