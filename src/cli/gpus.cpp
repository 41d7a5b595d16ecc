// vramplan gpus: the cards that --gpu accepts, and all that is known of one.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/values.h"
#include "read/data.h"
#include "render/json.h"
#include "render/table.h"

namespace vramplan {
namespace {

struct Order {
  std::string_view word;
  bool (*before)(const Card&, const Card&);
};
constexpr Order kOrders[]{
    {"memory", [](const Card& a, const Card& b) { return a.usable > b.usable; }},
    {"bandwidth", [](const Card& a, const Card& b) { return a.bandwidth_gbs > b.bandwidth_gbs; }},
    {"bf16", [](const Card& a, const Card& b) { return a.tflops.bf16 > b.tflops.bf16; }},
    {"year", [](const Card& a, const Card& b) { return a.launch_year > b.launch_year; }},
    {"name", [](const Card& a, const Card& b) { return a.name < b.name; }},
};

class GpusCommand final : public Command {
 public:
  std::string name() const override { return "gpus"; }
  std::string summary() const override { return "the cards of the catalogue, and all that is known of one"; }
  std::string examples() const override {
    return "  vramplan gpus --vendor nvidia --min-memory 40GiB --sort bandwidth\n"
           "  vramplan gpus --family hopper\n"
           "  vramplan gpus show h100-sxm\n";
  }
  std::vector<Flag> flags() override {
    return {{"show", "show NAME", "every field of one card, with its source", &words_},
            {"--vendor", "NAME", "only cards of this maker", &vendor_},
            {"--family", "NAME", "only this architecture or class: hopper, ada, consumer, datacenter", &family_},
            {"--min-memory", "SIZE", "only cards with at least this much usable memory", &least_},
            {"--sort", "KEY", "memory, bandwidth, bf16, year, name; the catalogue's order otherwise", &sort_}};
  }
  Exit run(const Context& context) override {
    const std::string text = Data(context.data_dir).gpus();
    if (!words_.empty()) return show(text, context);
    const std::vector<Card> cards = chosen(text);
    print(context.json ? cards_json(cards) : table(cards));
    return Exit::fits;
  }

 private:
  Exit show(const std::string& text, const Context& context) const {
    if (words_.size() != 2 || words_[0] != "show")
      throw UserError(fmt::format("'{}' is not understood", words_[0]), "gpus", "write: vramplan gpus show NAME",
                      Exit::usage);
    const std::vector<CardFact> facts = card_facts(text, find_card(text, words_[1]).id);
    if (context.json) {
      print(card_facts_json(facts));
      return Exit::fits;
    }
    Table t({false, false, false, false});
    for (const CardFact& f : facts) t.add({f.field, f.value, f.unit, f.source});
    print(t.str(""));
    return Exit::fits;
  }

  std::vector<Card> chosen(const std::string& text) const {
    std::vector<Card> cards = all_cards(text);
    std::vector<std::string> vendors, families;
    for (const Card& c : cards)
      vendors.push_back(c.vendor), families.insert(families.end(), {c.architecture, c.category});
    keep(cards, vendor_, vendors, "--vendor", [&](const Card& c) { return equal_ignoring_case(c.vendor, vendor_); });
    keep(cards, family_, families, "--family", [&](const Card& c) {
      return equal_ignoring_case(c.architecture.substr(0, family_.size()), family_) ||
             equal_ignoring_case(c.category, family_);
    });
    if (!least_.empty())
      std::erase_if(cards, [least = parse_bytes(least_)](const Card& c) { return c.usable < least; });
    if (!sort_.empty()) {
      const auto order =
          std::find_if(std::begin(kOrders), std::end(kOrders), [&](const Order& o) { return o.word == sort_; });
      if (order == std::end(kOrders))
        throw UserError(fmt::format("cannot sort by '{}'", sort_), "--sort",
                        "known: memory, bandwidth, bf16, year, name", Exit::usage);
      std::stable_sort(cards.begin(), cards.end(), order->before);
    }
    return cards;
  }

  template <class Matches>
  static void keep(std::vector<Card>& cards, const std::string& wanted, std::vector<std::string> known,
                   const char* flag, Matches matches) {
    if (wanted.empty()) return;
    std::erase_if(cards, [&](const Card& c) { return !matches(c); });
    if (!cards.empty()) return;
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    throw UserError(fmt::format("no card of '{}'", wanted), flag,
                    did_you_mean(wanted, known, fmt::format("known: {}", fmt::join(known, ", "))), Exit::usage);
  }

  static std::string table(const std::vector<Card>& cards) {
    Table t({false, false, false, true, true, true, true});
    t.add({"id", "name", "architecture", "advertised", "usable", "GB/s", "bf16 TFLOP/s"});
    auto figure = [](double x) { return x > 0 ? fmt::format("{:.0f}", x) : std::string(); };
    for (const Card& c : cards)
      t.add({c.id, c.name, c.architecture, format_gib(c.nominal), format_gib(c.usable), figure(c.bandwidth_gbs),
             figure(c.tflops.bf16)});
    return t.str("");
  }

  std::string vendor_, family_, least_, sort_;
  std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<Command> gpus_command() { return std::make_unique<GpusCommand>(); }

}  // namespace vramplan
