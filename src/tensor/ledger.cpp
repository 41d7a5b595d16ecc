#include "tensor/ledger.h"

namespace vramplan {
namespace {

void apply(Tally& t, const Event& e, const Record& r) {
  if (e.kind == Event::Kind::allocate) {
    t.requested += r.bytes;
    t.rounded += r.bytes.rounded_up(kBlock);
  } else if (e.kind == Event::Kind::release) {
    t.requested -= r.bytes;
    t.rounded -= r.bytes.rounded_up(kBlock);
  }
}

}  // namespace

Ledger::Ledger() {
  // Room for two steps of an 80-layer model; pages that are not written cost nothing.
  constexpr std::size_t kUsual = 1 << 15;
  records_.reserve(kUsual);
  events_.reserve(2 * kUsual);
}

std::uint32_t Ledger::allocate(const Record& r, Category c) {
  const auto i = static_cast<std::uint32_t>(records_.size());
  records_.push_back(r);
  records_.back().phase = phase_;
  events_.push_back({i, Event::Kind::allocate, c, phase_});
  return i;
}
void Ledger::release(std::uint32_t record) {
  events_.push_back({record, Event::Kind::release, Category::temporary, phase_});
}
void Ledger::reclassify(std::uint32_t record, Category c) {
  events_.push_back({record, Event::Kind::reclassify, c, phase_});
}

void Ledger::product(Event::Kind kind) { events_.push_back({0, kind, Category::workspace, phase_}); }

std::uint32_t Ledger::take(Bytes bytes, const char* op, const Place& place) {
  const auto i = static_cast<std::uint32_t>(records_.size());
  records_.push_back({bytes, {}, place, op, DType::boolean, phase_});
  events_.push_back({i, Event::Kind::take, Category::workspace, phase_});
  return i;
}
void Ledger::give(std::uint32_t record) { events_.push_back({record, Event::Kind::give, Category::workspace, phase_}); }

Tally Ledger::live(Instant t) const {
  Tally out;
  for (Instant i = 0; i < t; ++i) apply(out, events_[i], records_[events_[i].record]);
  return out;
}

Ledger::Peak Ledger::peak(Instant from, Instant to) const {
  Tally t = live(from);
  Peak p{t, from};
  for (Instant i = from; i < to; ++i) {
    apply(t, events_[i], records_[events_[i].record]);
    if (t.requested > p.tally.requested) p.tally.requested = t.requested, p.at = i + 1;
    if (t.rounded > p.tally.rounded) p.tally.rounded = t.rounded;
  }
  return p;
}

std::vector<Ledger::Alive> Ledger::alive(Instant t) const {
  constexpr std::uint8_t kDead = 255;
  std::vector<std::uint8_t> state(records_.size(), kDead);
  for (Instant i = 0; i < t; ++i) {
    const Event& e = events_[i];
    if (e.category == Category::workspace && e.kind >= Event::Kind::product) continue;
    state[e.record] = e.kind == Event::Kind::release ? kDead : static_cast<std::uint8_t>(e.category);
  }
  std::vector<Alive> out;
  for (std::uint32_t r = 0; r < state.size(); ++r)
    if (state[r] != kDead) out.push_back({r, static_cast<Category>(state[r])});
  return out;
}

bool same_events(const Ledger& a, const Ledger& b, Ledger::Instant to) {
  if (a.now() < to || b.now() < to) return false;
  for (Ledger::Instant i = 0; i < to; ++i) {
    const Event &x = a.events()[i], &y = b.events()[i];
    const Record &r = a.record(x.record), &q = b.record(y.record);
    if (x.record != y.record || x.kind != y.kind || x.category != y.category || x.phase != y.phase ||
        r.bytes != q.bytes || !(r.shape == q.shape) || r.dtype != q.dtype)
      return false;
  }
  return true;
}

}  // namespace vramplan
