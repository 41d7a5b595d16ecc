#include "cli/job_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/suggest.h"
#include "read/data.h"
#include "read/json_object.h"
#include "read/named_file.h"
#include "read/training_args.h"

namespace vramplan {
namespace {

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

/// Flags that say the same thing in different ways: one way at a time. What is said higher up decides.
struct Way {
  std::string_view thing, way, flag;
};
constexpr Way kWays[]{{"model", "preset", "--model"},
                      {"model", "file", "--config"},
                      {"model", "sizes", "--layers"},
                      {"model", "sizes", "--hidden"},
                      {"model", "sizes", "--heads"},
                      {"model", "sizes", "--kv-heads"},
                      {"model", "sizes", "--head-dim"},
                      {"model", "sizes", "--ffn"},
                      {"model", "sizes", "--vocab"},
                      {"model", "sizes", "--norm"},
                      {"model", "sizes", "--mlp"},
                      {"model", "sizes", "--position"},
                      {"model", "sizes", "--tied"},
                      {"recomputation", "segments", "--segments"},
                      {"recomputation", "named", "--checkpoint"},
                      {"card", "named", "--gpu"},
                      {"card", "size", "--gpu-memory"}};

std::string value_of(const Flag& f) {
  if (auto* const* text = std::get_if<std::string*>(&f.target)) return **text;
  return *std::get<bool*>(f.target) ? "true" : "";
}

void set_value(const Flag& f, const std::string& value) {
  if (auto* const* text = std::get_if<std::string*>(&f.target))
    **text = value;
  else
    *std::get<bool*>(f.target) = switch_value(value, long_name(f));
}

/// What most jobs are described with; --help shows these.
constexpr std::string_view kEveryday[]{"--model",       "--config", "--layers",     "--hidden",    "--heads",
                                       "--micro-batch", "--seq",    "--accumulate", "--precision", "--optimizer",
                                       "--lora",        "--quant",  "--attention",  "--segments",  "--checkpoint",
                                       "--gpu",         "--job"};

/// Whose values name files that are carried in a document.
constexpr std::string_view kFiles[]{"--config", "--gpu-file", "--calibration"};

}  // namespace

bool contradict(std::string_view a, std::string_view b) {
  for (const Way& x : kWays)
    for (const Way& y : kWays)
      if (x.flag == a && y.flag == b && x.thing == y.thing && x.way != y.way) return true;
  return false;
}

std::vector<Flag> JobFlags::flags() {
  std::vector<Flag> all = model_.flags();
  for (const std::vector<Flag>& more : {run_.flags(), card_.flags()}) all.insert(all.end(), more.begin(), more.end());
  all.push_back(
      {"--job", "FILE",
       "flags from a file: an object of flags, a document of this program, or TrainingArguments; what is typed "
       "wins",
       &job_file_, "Job"});
  for (Flag& f : all)
    f.rare = std::find(std::begin(kEveryday), std::end(kEveryday), long_name(f)) == std::end(kEveryday);
  return all;
}

Flag JobFlags::named(const std::string& flag, const std::string& where) {
  std::vector<std::string> known;
  for (const Flag& f : flags()) {
    if (long_name(f) == flag) return f;
    known.push_back(long_name(f).substr(2));
  }
  throw UserError(fmt::format("'{}' is not a flag of a job", flag), where.empty() ? flag : where,
                  did_you_mean(flag.substr(2), known, "see 'vramplan estimate --help'"), Exit::usage);
}

void JobFlags::set(const std::string& flag, const std::string& value) {
  set_value(named(flag), value);
  origins_.erase(flag);
  if (flag == "--job") complete_ = false;
  // what lies lower gives way
  const std::map<std::string, std::string> lower = origins_;
  for (const auto& [other, origin] : lower)
    if (contradict(flag, other) && !value.empty()) {
      set_value(named(other), "");
      origins_.erase(other);
    }
}

void JobFlags::change(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string word = words[i].substr(0, equals);
    const std::vector<Flag> all = flags();
    const Flag* const found = find_flag(all, word);
    const Flag f = found ? *found : named(word);
    if (equals != std::string::npos) {
      replace(long_name(f), words[i].substr(equals + 1));
    } else if (f.value.empty()) {
      replace(long_name(f), "true");
    } else if (++i < words.size()) {
      replace(long_name(f), words[i]);
    } else {
      throw UserError("the value is missing", word, fmt::format("write {} {}", word, f.value), Exit::usage);
    }
  }
  read_files();
}

void JobFlags::replace(const std::string& flag, const std::string& value) {
  set(flag, value);
  for (const GivenFlag& other : given())
    if (contradict(flag, other.flag) && !value.empty()) set(other.flag, "");
}

bool JobFlags::given(const std::string& flag) { return !value_of(named(flag)).empty(); }

std::vector<GivenFlag> JobFlags::given() const {
  JobFlags copy = *this;  // flags() points into the object it is asked of
  std::vector<GivenFlag> out;
  for (const Flag& f : copy.flags()) {
    const std::string name = long_name(f), value = value_of(f);
    if (value.empty() || name == "--job") continue;
    const auto origin = origins_.find(name);
    out.push_back({name, value, origin == origins_.end() ? "command line" : origin->second});
  }
  return out;
}

std::vector<GivenFlag> JobFlags::all() const {
  constexpr std::string_view kDefault = "(default: ";
  std::vector<GivenFlag> out = given();
  for (const Flag& f : JobFlags().flags()) {
    const auto same = [&](const GivenFlag& g) { return g.flag == long_name(f); };
    if (long_name(f) == "--job" || std::any_of(out.begin(), out.end(), same)) continue;
    const std::size_t at = f.help.find(kDefault);
    std::string value = f.value.empty() ? "false" : "";
    if (at != std::string::npos) value = f.help.substr(at + kDefault.size(), f.help.rfind(')') - at - kDefault.size());
    out.push_back({long_name(f), value, "default"});
  }
  return out;
}

void JobFlags::lay_under(const std::vector<GivenFlag>& values) {
  std::vector<std::string> higher = typed_;
  for (const GivenFlag& g : given()) higher.push_back(g.flag);
  for (const GivenFlag& v : values) {
    const Flag f = named(v.flag, v.origin);
    if (v.flag == "--job") throw UserError("a job file cannot name another", v.origin, "take \"job\" out of it");
    const bool outdone = std::any_of(higher.begin(), higher.end(), [&](const std::string& h) {
      return h == v.flag || contradict(h, v.flag) || (h.starts_with("--gpu") && v.flag == "--mig");
    });
    if (outdone) continue;
    set_value(f, v.value);
    if (given(v.flag)) origins_[v.flag] = v.origin;
  }
}

void JobFlags::read_files() {
  for (const std::string_view flag : kFiles) {
    const Flag f = named(std::string(flag));
    std::string& value = **std::get_if<std::string*>(&f.target);
    if (value.empty() || value.starts_with('{')) continue;
    const NamedFile file = read_named(value);
    const nlohmann::ordered_json content = parse_json(file.content, file.name);
    if (flag == "--config" && is_training_args(content)) {
      value.clear();
      JobFile args = read_training_args(content, file.name);
      lay_under(args.flags);
      warnings_.insert(warnings_.end(), args.warnings.begin(), args.warnings.end());
    } else {
      value = carried(file);
    }
  }
}

Ambient ambient_of_jobs() {
  std::vector<std::string> known;
  for (const Flag& f : JobFlags().flags()) known.push_back(long_name(f));
  return ambient_values(known);
}

void JobFlags::complete(const Context& context) { complete(ambient_of_jobs(), context.typed); }

void JobFlags::complete(const Ambient& ambient, const std::vector<std::string>& typed) {
  if (complete_) return;
  complete_ = true;
  typed_ = typed;
  read_files();
  JobFile file;
  if (!job_file_.empty()) file = read_job_file(read_file(job_file_), job_file_);
  for (const JobFile* source : std::initializer_list<const JobFile*>{&file, &ambient.environment, &ambient.defaults}) {
    lay_under(source->flags);
    warnings_.insert(warnings_.end(), source->warnings.begin(), source->warnings.end());
  }
  read_files();
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
  j.card = card.card;
  j.run.device = card.run.device;
  run_.read(j);
  model_.settle_positions(j);
  if (!j.card && j.run.fp8) {
    j.run.device.compute_capability = 90, j.run.device.multiprocessors = 132;
    j.assumptions.push_back("no card was named: 8-bit products are those of an H100");
  }
  j.calibration = card.calibration;
  j.allocator = card.allocator;
  j.allocator_map = card.allocator_map;
  j.reserve = card.reserve;
  j.memory_fraction = card.memory_fraction;
  j.assumptions.insert(j.assumptions.end(), card.assumptions.begin(), card.assumptions.end());
  j.warnings.insert(j.warnings.end(), warnings_.begin(), warnings_.end());
  return j;
}

Job JobFlags::job(const Context& context) const {
  Job j = job(model(context), card(context));
  j.given = given();
  return j;
}

}  // namespace vramplan
