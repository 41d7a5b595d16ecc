// What a user got wrong: what, where (file, JSON path, flag), and the next step. The exit status follows from
// the kind. Never thrown for a defect of the program itself.
#pragma once
#include <stdexcept>
#include <string>
#include <utility>

namespace vramplan {

/// Exit statuses of every command.
enum class Exit {
  fits = 0,
  does_not_fit = 1,
  usage = 2,
  bad_input = 3,
  out_of_memory = 4,
  check_failed = 5,
  internal = 70,
  interrupted = 130
};

struct UserError : std::runtime_error {
  UserError(const std::string& what, std::string place = {}, std::string advice = {},
            Exit exit_status = Exit::bad_input)
      : std::runtime_error(what), where(std::move(place)), hint(std::move(advice)), status(exit_status) {}
  std::string where;  ///< file, JSON path or flag; may be empty
  std::string hint;   ///< what to do next; may be empty
  Exit status;
};

}  // namespace vramplan
