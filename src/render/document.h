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
/// The value of a flag: null for none, a file as the object that carries it.
nlohmann::ordered_json flag_json(const std::string& value);
/// The same for people: a file by its name.
std::string flag_text(const std::string& value);

/// With "flags": given back as --job, they make the same job.
nlohmann::ordered_json job_json(const Job& job);

}  // namespace vramplan
