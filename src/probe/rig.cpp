#include "probe/rig.h"

#include "estimate/overhead.h"

namespace vramplan {
namespace {

Bytes difference(Bytes a, Bytes b) { return a > b ? a - b : Bytes(); }

}  // namespace

CardLooks::CardLooks(const CudaDriver& driver, int device) {
  if (device >= driver.count())
    throw UserError(fmt::format("there are {} devices", driver.count()), "--device", "the first is 0", Exit::usage);
  try {
    nvml_ = std::make_unique<Nvml>();
    use_.emplace(*nvml_, nvml_device(*nvml_, driver.uuid(device), device));
  } catch (const UserError&) {  // without it there is the driver's own figure of the whole card
  }
}

std::optional<Bytes> CardLooks::process() {
  const Bytes used = now();
  return by_process() ? std::optional(used) : std::nullopt;
}

CardRig::CardRig(int device, const AllocatorOptions& allocator, bool cublas)
    : looks_(driver_, device), options_{allocator, nullptr, {}} {
  const Bytes others = looks_.now();
  driver_.enter(device);
  card_.name = driver_.name();
  card_.uuid = driver_.uuid(device);
  const auto context = looks_.more();
  const MeteredCuda backend(driver_, options_);
  const auto module = looks_.more();
  if (cublas) {
    cublas_ = std::make_unique<Cublas>();
    options_.cublas = cublas_.get();
    options_.workspace = workspace_bytes(driver_.compute_capability());
  }
  const CudaDriver::Memory m = driver_.memory();
  card_.total = m.total;
  card_.free = m.free;
  card_.by_process = looks_.by_process();
  if (!context) {
    card_.outside.push_back({"context, kernels and other programs", m.total - m.free});
    return;
  }
  card_.outside.push_back({"other programs", others});
  const auto own = [&](const char* name, Bytes bytes) {
    card_.outside.push_back({name, bytes});
    card_.context += bytes;
  };
  own("primary context", *context);
  own("module of kernels", module.value_or(Bytes()));
  if (cublas) own("cuBLAS", looks_.more().value_or(Bytes()));
}

void CardRig::check(const DryRun& predicted) const {
  Bytes need;
  for (const DryRun::AllocatorPhase& p : predicted.allocator_phases(options_.allocator, kernels()))
    need = std::max(need, p.reserved);
  if (need > card_.free)
    throw UserError(fmt::format("the step needs {} on the card and {} of {} are free", format_bytes(need),
                                format_bytes(card_.free), format_bytes(card_.total)),
                    "probe train", "take a smaller micro-batch, more segments, or free the card", Exit::does_not_fit);
}

void CardRig::report(Probe& out, MeteredCuda& backend, const DryRun& predicted) const {
  const auto expected = predicted.allocator_phases(options_.allocator, kernels());
  Bytes tensors, allocated, reserved;
  for (ProbedPhase& p : out.phases) {
    const CardPeaks seen = backend.peaks(p.phase);
    CardPhase& c = p.card.emplace();
    c.allocated = seen.allocated, c.reserved = seen.reserved, c.device_used = seen.device_used,
    c.process = seen.process;
    for (const DryRun::AllocatorPhase& e : expected)
      if (e.phase == p.phase) c.predicted_allocated = e.allocated, c.predicted_reserved = e.reserved;
    tensors = std::max(tensors, p.measured);
    allocated = std::max(allocated, c.allocated);
    reserved = std::max(reserved, c.reserved);
  }
  out.card = card_;
  out.card->outside.push_back(
      {cublas_ ? "workspace of cuBLAS, and rounding to blocks" : "rounding of tensors to blocks",
       difference(allocated, tensors)});
  out.card->outside.push_back({"reserved and not allocated at the peak", difference(reserved, allocated)});
}

}  // namespace vramplan
