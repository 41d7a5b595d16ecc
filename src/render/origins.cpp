#include "render/origins.h"

#include "render/document.h"
#include "render/table.h"

namespace vramplan {

using json = nlohmann::ordered_json;

std::string origins_table(const std::vector<GivenFlag>& flags) {
  Table t({false, false, false});
  for (const GivenFlag& f : flags)
    if (!f.value.empty())
      t.add(
          {f.flag, f.value.starts_with('{') ? json::parse(f.value).at("file").get<std::string>() : f.value, f.origin});
  return t.str("");
}

std::string origins_json(const std::vector<GivenFlag>& flags) {
  json j = document("origins");
  j["settings"] = json::array();
  for (const GivenFlag& f : flags) {
    json value = f.value.empty() ? json() : f.value.starts_with('{') ? json::parse(f.value) : json(f.value);
    j["settings"].push_back({{"flag", f.flag}, {"value", std::move(value)}, {"origin", f.origin}});
  }
  return document_text(j);
}

}  // namespace vramplan
