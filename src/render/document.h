// What every JSON document begins with and may contain: its kind and version, the job that it answers. Keys keep their
// order; bytes are integers.
#pragma once
#include <nlohmann/json.hpp>

#include <string>

#include "vramplan/estimate/job.h"

namespace vramplan {

/// {"schema_version": 1, "kind": kind}
nlohmann::ordered_json document(const char* kind);
/// As it is printed. Bytes that are no UTF-8 are replaced.
std::string document_text(const nlohmann::ordered_json& j);

nlohmann::ordered_json model_json(const ModelConfig& m);
/// With "flags": given back as --job, they make the same job.
nlohmann::ordered_json job_json(const Job& job);

}  // namespace vramplan
