#include "hardware/speed_of.h"

namespace vramplan {

Speed speed_of(const Card& card, const Efficiency& e) {
  Speed s;
  const Tflops& peak = card.tflops;
  if (card.bandwidth_gbs <= 0 || peak.fp32 <= 0) return s;
  s.byte = 1 / (card.bandwidth_gbs * 1e9 * e.memory);
  s.launch = e.launch_us * 1e-6;
  auto set = [&](DType type, double tflops) {
    const double rate = (tflops > 0 ? tflops : peak.fp32) * 1e12;
    s.product[static_cast<std::size_t>(type)] = 1 / (rate * e.matrix);
    s.attention[static_cast<std::size_t>(type)] = 1 / (rate * e.attention);
  };
  set(DType::fp32, peak.fp32);
  set(DType::fp16, peak.fp16);
  set(DType::bf16, peak.bf16);
  set(DType::int8, peak.int8);
  return s;
}

Card reference_card() {
  Card c;
  c.id = "a100-sxm4-80gb";
  c.name = "NVIDIA A100 SXM4 80GB";
  c.compute_capability = 80;
  c.tflops = {19.5, 312, 312, 624};
  c.bandwidth_gbs = 2039;
  return c;
}

}  // namespace vramplan
