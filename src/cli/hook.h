// The Python files that `rehearse` and `probe watch` put before a program's modules.
#pragma once
#include "read/data.h"
#include "rehearse/workplace.h"

namespace vramplan {

/// `whose`: "rehearse" or "probe".
inline HookFiles hook_files(const Data& data, const std::string& whose) {
  HookFiles files{{"sitecustomize.py", data.text(whose + "/sitecustomize.py")},
                  {"vramplan_at_import.py", data.text("hook/vramplan_at_import.py")}};
  if (whose == "rehearse")
    for (const char* name : {"vramplan_places.py", "vramplan_settled.py"}) files[name] = data.text(whose + "/" + name);
  return files;
}

}  // namespace vramplan
