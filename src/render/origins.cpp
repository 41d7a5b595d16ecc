#include "render/origins.h"

#include "render/document.h"
#include "render/table.h"

namespace vramplan {

using json = nlohmann::ordered_json;

std::string origins_table(const std::vector<GivenFlag>& flags) {
  Table t({false, false, false});
  for (const GivenFlag& f : flags)
    if (!f.value.empty()) t.add({f.flag, flag_text(f.value), f.origin});
  return t.str("");
}

std::string origins_json(const std::vector<GivenFlag>& flags) {
  json j = document("origins");
  j["settings"] = json::array();
  for (const GivenFlag& f : flags) {
    j["settings"].push_back({{"flag", f.flag}, {"value", flag_json(f.value)}, {"origin", f.origin}});
  }
  return document_text(j);
}

}  // namespace vramplan
