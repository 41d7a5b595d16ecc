// vramplan schema: the JSON Schema of each document, and of the files that --job reads.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/suggest.h"
#include "cli/job_flags.h"
#include "cli/output.h"
#include "read/data.h"

namespace vramplan {
namespace {

using json = nlohmann::ordered_json;

/// Made from the table of flags, so that it cannot lag behind.
std::string flags_schema() {
  json properties = json::object();
  for (const Flag& f : JobFlags().flags()) {
    const std::string name = long_name(f).substr(2);
    if (name == "job") continue;
    json types = f.value.empty() ? json{"boolean", "string"} : json{"string", "number"};
    if (f.value == "FILE") types.push_back("object");
    properties[name] = {{"type", std::move(types)}, {"description", f.help}};
  }
  const json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                    {"$id", "flags.schema.json"},
                    {"title", "A job as --job reads it: flags without dashes, and their values"},
                    {"type", "object"},
                    {"additionalProperties", false},
                    {"properties", std::move(properties)}};
  return schema.dump(1) + "\n";
}

class SchemaCommand final : public Command {
 public:
  std::string name() const override { return "schema"; }
  std::string summary() const override { return "the JSON Schema of a document: every field with its unit"; }
  std::string examples() const override {
    return "  vramplan schema              # which there are\n"
           "  vramplan schema estimate\n"
           "  vramplan schema flags        # of a file for --job\n";
  }
  std::vector<Flag> flags() override { return {{"document", "DOCUMENT", "whose schema", &words_}}; }
  Exit run(const Context&) override {
    std::vector<std::string> known = documents_with_schema();
    known.emplace_back("flags");
    if (words_.empty()) {
      print(fmt::format("{}\n", fmt::join(known, "\n")));
      return Exit::fits;
    }
    if (words_.size() != 1 || std::find(known.begin(), known.end(), words_[0]) == known.end())
      throw UserError(fmt::format("'{}' is not a document", fmt::join(words_, " ")), "schema",
                      did_you_mean(words_[0], known, fmt::format("known: {}", fmt::join(known, ", "))), Exit::usage);
    print(words_[0] == "flags" ? flags_schema() : schema_of(words_[0]));
    return Exit::fits;
  }

 private:
  std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<Command> schema_command() { return std::make_unique<SchemaCommand>(); }

}  // namespace vramplan
