#include "cli/job_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/suggest.h"

namespace vramplan {
namespace {

std::string name_of(const Flag& f) { return f.names.substr(f.names.find("--")); }

std::string key_of(const std::vector<Flag>& flags) {
  std::string key;
  for (const Flag& f : flags)
    if (auto* const* text = std::get_if<std::string*>(&f.target))
      key += **text + '\n';
    else if (auto* const* set = std::get_if<bool*>(&f.target))
      key += **set ? "1\n" : "0\n";
  return key;
}

bool switch_value(const std::string& text, const std::string& flag) {
  for (const char* yes : {"true", "yes", "1", "on"})
    if (text == yes) return true;
  for (const char* no : {"false", "no", "0", "off", ""})
    if (text == no) return false;
  throw UserError(fmt::format("'{}' switches nothing on or off", text), flag, "write true or false", Exit::usage);
}

}  // namespace

std::vector<Flag> JobFlags::flags() {
  std::vector<Flag> all = model_.flags();
  for (const std::vector<Flag>& more : {run_.flags(), card_.flags()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

Flag JobFlags::named(const std::string& flag) {
  std::vector<std::string> known;
  for (const Flag& f : flags()) {
    if (name_of(f) == flag) return f;
    known.push_back(name_of(f).substr(2));
  }
  throw UserError(fmt::format("'{}' is not a flag of a job", flag), flag,
                  did_you_mean(flag.substr(2), known, "see 'vramplan estimate --help'"), Exit::usage);
}

void JobFlags::set(const std::string& flag, const std::string& value) {
  const Flag f = named(flag);
  if (auto* const* text = std::get_if<std::string*>(&f.target))
    **text = value;
  else
    *std::get<bool*>(f.target) = switch_value(value, flag);
}

bool JobFlags::given(const std::string& flag) {
  const Flag f = named(flag);
  if (auto* const* text = std::get_if<std::string*>(&f.target)) return !(*text)->empty();
  return *std::get<bool*>(f.target);
}

std::string JobFlags::model_key() { return key_of(model_.flags()); }
std::string JobFlags::card_key() { return key_of(card_.flags()); }

Job JobFlags::model(const Context& context) const {
  Job j;
  model_.read(context, j);
  return j;
}

Job JobFlags::card(const Context& context) const {
  Job j;
  card_.read(context, j);
  return j;
}

Job JobFlags::job(const Job& model, const Job& card) const {
  Job j = model;
  run_.read(j);
  model_.settle_positions(j);
  j.card = card.card;
  j.run.device = card.run.device;
  j.calibration = card.calibration;
  j.allocator = card.allocator;
  j.allocator_map = card.allocator_map;
  j.reserve = card.reserve;
  j.memory_fraction = card.memory_fraction;
  j.assumptions.insert(j.assumptions.end(), card.assumptions.begin(), card.assumptions.end());
  return j;
}

Job JobFlags::job(const Context& context) const { return job(model(context), card(context)); }

}  // namespace vramplan
