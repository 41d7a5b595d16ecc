// A library that is opened by name while the program runs: of the driver, where there is one. It stays open to the end
// of the process: drivers have threads of their own.
#pragma once
#include <initializer_list>
#include <string>

namespace vramplan {

class SharedLibrary {
 public:
  /// The first of `names` that opens. Builds with tests honour the environment's `stand_in` instead: a path.
  SharedLibrary(std::initializer_list<const char*> names, const char* stand_in);

  bool opened() const { return handle_ != nullptr; }
  const std::string& why_not() const { return why_not_; }

  /// The first of `names` that it has, or nothing: newer drivers have newer forms, under names of their own.
  template <class Function>
  Function* find(std::initializer_list<const char*> names) const {
    for (const char* name : names)
      if (void* symbol = look_up(name)) return reinterpret_cast<Function*>(symbol);
    return nullptr;
  }

 private:
  void* look_up(const char* name) const;
  void* handle_ = nullptr;
  std::string why_not_;
};

}  // namespace vramplan
