// vramplan models: the presets that --model accepts.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/output.h"
#include "read/data.h"
#include "read/model_config.h"
#include "render/json.h"
#include "render/table.h"

namespace vramplan {
namespace {

/// An encoder's and a decoder's where there are both.
std::string layers_of(const ModelConfig& c) {
  return c.two_stacks() ? fmt::format("{}+{}", c.source.layers, c.layers) : std::to_string(c.layers);
}

class ModelsCommand final : public Command {
 public:
  std::string name() const override { return "models"; }
  std::string summary() const override { return "the model presets"; }
  std::string examples() const override { return "  vramplan models\n"; }
  std::vector<Flag> flags() override { return {}; }
  Exit run(const Context& context) override {
    const Data data(context.data_dir);
    std::vector<ModelLine> lines;
    for (const std::string& name : data.models())
      lines.push_back({name, read_model_config(data.model(name), name).config});
    if (lines.empty())
      throw UserError("no model is in this folder", context.data_dir,
                      "presets stand as models/NAME/config.json; leave out --data-dir for those that are built in");
    if (context.json) {
      print(models_json(lines));
      return Exit::fits;
    }
    Table t({false, true, true, true, true});
    t.add({"name", "parameters", "layers", "hidden", "vocabulary"});
    for (const ModelLine& m : lines)
      t.add({m.name, format_count(parameter_count(m.config)), layers_of(m.config), std::to_string(m.config.hidden),
             std::to_string(m.config.vocab)});
    print(t.str(""));
    return Exit::fits;
  }
};

}  // namespace

std::unique_ptr<Command> models_command() { return std::make_unique<ModelsCommand>(); }

}  // namespace vramplan
