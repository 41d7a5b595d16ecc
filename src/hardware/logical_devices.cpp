#include "hardware/logical_devices.h"

#include <fmt/format.h>

namespace vramplan {

Card one_device(Card whole, int devices, const std::string& kind) {
  if (devices <= 1) return whole;
  Card c = std::move(whole);
  const auto share = [devices](Bytes b) { return Bytes(b.count() / static_cast<std::uint64_t>(devices)); };
  c.nominal = share(c.nominal);
  c.driver_total = share(c.driver_total);
  c.usable = share(c.usable);
  c.l2 = share(c.l2);
  c.bandwidth_gbs /= devices;
  c.bus_bits /= devices;
  for (double* rate : {&c.tflops.fp32, &c.tflops.fp16, &c.tflops.bf16, &c.tflops.int8}) *rate /= devices;
  c.note = fmt::format(
      "{} shows up as {} devices ({}); this is one of them, with its share of the memory, bandwidth and "
      "arithmetic",
      c.name, devices, kind.empty() ? "alike" : kind);
  return c;
}

}  // namespace vramplan
