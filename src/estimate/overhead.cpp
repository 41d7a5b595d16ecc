#include "estimate/overhead.h"

namespace vramplan {
namespace {

Bytes times(std::initializer_list<std::int64_t> factors) {
  Bytes b(1);
  for (std::int64_t f : factors) b *= static_cast<std::uint64_t>(f);
  return b;
}

std::int64_t up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

Bytes flash_scratch(const Job& job) {
  const ModelConfig& m = job.model;
  const TrainOptions& r = job.run;
  const bool half = parameter_type(r.precision) != DType::fp32 || autocast_type(r.precision).has_value();
  if (!half || r.attention == AttentionForm::eager || r.attention == AttentionForm::math) return {};
  const std::int64_t b = r.micro_batch, s = up(r.seq, 128), d = up(m.head_dim, m.head_dim <= 128 ? 32 : 64);
  const Bytes sums = times({4, b, m.heads, s}), queries = times({4, b, s, m.heads, d});
  return m.kv_heads < m.heads ? sums + queries + times({4, b, r.seq, m.heads, m.head_dim}) : sums + queries;
}

}  // namespace

Bytes workspace_bytes(int compute_capability) { return Bytes(compute_capability == 90 ? 32 * kMiB : 8519680); }

Overhead default_overhead(const std::optional<Card>& card) {
  return {Bytes(kGiB * 6 / 10), workspace_bytes(card ? card->compute_capability : 80)};
}

std::vector<UncertaintyPart> uncertainty_parts(const Job& job) {
  std::vector<UncertaintyPart> parts{{"context: up to 0.9 GiB seen", Bytes(kGiB * 3 / 10)}};
  if (const Bytes scratch = flash_scratch(job); scratch > Bytes())
    parts.push_back({"scratch of flash attention's backward, if it falls on the peak", scratch});
  return parts;
}

}  // namespace vramplan
