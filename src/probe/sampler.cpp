#include "probe/sampler.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <system_error>

#include "probe/process_tree.h"
#include "vramplan/base/error.h"

namespace vramplan {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

constexpr double kShareOfACore = 0.01, kJitter = 0.25, kNap = 0.02;

/// When to look again: the period, or longer where looking is slow.
class Pace {
 public:
  explicit Pace(double period) : period_(period) {}
  bool due() const { return now() >= next_; }
  double next() const { return next_; }
  void looked(double began, std::mt19937& random) {
    const double took = now() - began;
    const double period = std::max(period_, took / kShareOfACore);
    next_ = now() + period * std::uniform_real_distribution<double>(1 - kJitter, 1 + kJitter)(random);
  }

 private:
  double period_, next_ = 0;
};

}  // namespace

Sampler::Sampler(const SamplerPeriods& periods) : periods_(periods) {
  cards_.resize(devices_.size());
  before_.resize(cards_.size());
  last_.resize(cards_.size());
  last_time_.resize(cards_.size(), now());
  for (std::size_t i = 0; i < cards_.size(); ++i) {
    SampledCard& card = cards_[i];
    card.name = nvml_.card(devices_[i]).name;
    if (const auto m = nvml_.memory(devices_[i])) {
      card.total = m->total;
      card.before = card.highest = last_[i] = m->used;
    }
    if (const auto list = nvml_.processes(devices_[i]))
      for (const CardProcess& p : *list) before_[i][p.pid] = p.used.value_or(Bytes());
  }
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& e) {
    throw UserError(std::string("no thread to look at the cards: ") + e.what(), "driver", "raise ulimit -u");
  }
}

Sampler::~Sampler() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

std::vector<SampledCard> Sampler::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  return cards_;
}

void Sampler::run() {
  std::mt19937 random(std::random_device{}());
  Pace memory(periods_.memory), processes(periods_.processes);
  while (!stopping_) {
    try {
      if (memory.due()) {
        const double began = now();
        look_at_memory();
        memory.looked(began, random);
      }
      if (processes.due()) {
        const double began = now();
        look_at_processes();
        processes.looked(began, random);
      }
    } catch (const UserError&) {
      return;  // the GPU was lost: what was seen until then stands
    }
    const double until = std::min({memory.next(), processes.next(), now() + kNap});
    std::this_thread::sleep_for(std::chrono::duration<double>(std::max(until - now(), 0.0)));
  }
}

void Sampler::look_at_memory() {
  for (std::size_t i = 0; i < cards_.size(); ++i) {
    SampledCard& card = cards_[i];
    const auto m = nvml_.memory(devices_[i]);
    if (!m) continue;
    const double time = now();
    if (card.samples++) card.longest_gap = std::max(card.longest_gap, time - last_time_[i]);
    if (m->used > last_[i]) card.largest_jump = std::max(card.largest_jump, m->used - last_[i]);
    card.highest = std::max(card.highest.value_or(Bytes()), m->used);
    last_[i] = m->used;
    last_time_[i] = time;
  }
}

void Sampler::look_at_processes() {
  const std::set<std::int64_t> family = descendants();
  for (std::size_t i = 0; i < cards_.size(); ++i) {
    const auto list = nvml_.processes(devices_[i]);
    if (!list) continue;
    SampledCard& card = cards_[i];
    ++card.process_samples;
    Bytes by_number, fresh;
    std::set<std::int64_t> numbers, entries;
    bool others = false;
    std::size_t known = 0;
    for (const CardProcess& p : *list) {
      const Bytes used = p.used.value_or(Bytes());
      if (family.count(p.pid)) by_number += used, numbers.insert(p.pid);
      const auto old = before_[i].find(p.pid);
      if (old == before_[i].end())
        fresh += used, entries.insert(p.pid);
      else
        ++known, others = others || (!family.count(p.pid) && old->second != used);
    }
    card.others = card.others || others || known != before_[i].size();
    if (!numbers.empty()) {
      card.match = PidMatch::same;
      card.others = card.others || entries.size() > numbers.size();
    } else if (!entries.empty() && card.match == PidMatch::none) {
      card.match = PidMatch::new_entries;
    }
    const bool same = card.match == PidMatch::same;
    if (card.match == PidMatch::none) continue;
    card.ours = std::max(card.ours, same ? by_number : fresh);
    const auto& seen = same ? numbers : entries;
    card.pids.insert(seen.begin(), seen.end());
  }
}

}  // namespace vramplan
