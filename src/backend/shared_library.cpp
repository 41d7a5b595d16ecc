#include "backend/shared_library.h"

#include <dlfcn.h>

#include <cstdlib>

namespace vramplan {

SharedLibrary::SharedLibrary(std::initializer_list<const char*> names, [[maybe_unused]] const char* stand_in) {
#ifdef VRAMPLAN_STAND_INS
  if (const char* path = std::getenv(stand_in)) {
    handle_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle_) why_not_ = dlerror();
    return;
  }
#endif
  for (const char* name : names) {
    handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle_) return;
    if (why_not_.empty()) why_not_ = dlerror();
  }
}

void* SharedLibrary::look_up(const char* name) const { return handle_ ? dlsym(handle_, name) : nullptr; }

}  // namespace vramplan
