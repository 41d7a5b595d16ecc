// vramplan gpus, vramplan models: the names that other commands accept.
#include <fmt/format.h>

#include "base/text.h"
#include "cli/command.h"
#include "read/data.h"
#include "read/model_config.h"
#include "render/json.h"
#include "render/table.h"

namespace vramplan {
namespace {

class GpusCommand final : public Command {
 public:
  std::string name() const override { return "gpus"; }
  std::string summary() const override { return "the cards of the catalogue"; }
  std::string examples() const override { return "  vramplan gpus --vendor nvidia\n"; }
  std::vector<Flag> flags() override { return {{"--vendor", "NAME", "only cards of this maker", &vendor_}}; }
  Exit run(const Context& context) override {
    std::vector<Card> cards;
    for (Card& c : all_cards(Data(context.data_dir).gpus()))
      if (vendor_.empty() || equal_ignoring_case(c.vendor, vendor_)) cards.push_back(std::move(c));
    if (cards.empty())
      throw UserError(fmt::format("no card of a maker called '{}'", vendor_), "--vendor",
                      "try NVIDIA, AMD, Intel, Google, Apple", Exit::usage);
    if (context.json) {
      fmt::print("{}", cards_json(cards));
      return Exit::fits;
    }
    Table t({false, false, true, true, true});
    t.add({"id", "name", "advertised", "usable", "GB/s"});
    for (const Card& c : cards)
      t.add({c.id, c.name, format_gib(c.nominal), format_gib(c.usable),
             c.bandwidth_gbs > 0 ? fmt::format("{:.0f}", c.bandwidth_gbs) : ""});
    fmt::print("{}", t.str(""));
    return Exit::fits;
  }

 private:
  std::string vendor_;
};

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
    if (context.json) {
      fmt::print("{}", models_json(lines));
      return Exit::fits;
    }
    Table t({false, true, true, true, true});
    t.add({"name", "parameters", "layers", "hidden", "vocabulary"});
    for (const ModelLine& m : lines)
      t.add({m.name, format_count(parameter_count(m.config)), std::to_string(m.config.layers),
             std::to_string(m.config.hidden), std::to_string(m.config.vocab)});
    fmt::print("{}", t.str(""));
    return Exit::fits;
  }
};

}  // namespace

std::unique_ptr<Command> gpus_command() { return std::make_unique<GpusCommand>(); }
std::unique_ptr<Command> models_command() { return std::make_unique<ModelsCommand>(); }

}  // namespace vramplan
