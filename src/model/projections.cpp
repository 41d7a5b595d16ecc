#include "model/projections.h"

namespace vramplan {

std::vector<Projection> projections(const ModelConfig& c) {
  if (c.architecture == Architecture::gpt2)
    return {{"attn", "c_attn", &LayerWeights::qkv, c.hidden, 3 * c.hidden},
            {"attn", "c_proj", &LayerWeights::out, c.hidden, c.hidden},
            {"mlp", "c_fc", &LayerWeights::up, c.hidden, c.ffn},
            {"mlp", "c_proj", &LayerWeights::down, c.ffn, c.hidden}};
  if (c.encoder())
    return {{"attention", "query", &LayerWeights::q, c.hidden, c.hidden},
            {"attention", "key", &LayerWeights::k, c.hidden, c.hidden},
            {"attention", "value", &LayerWeights::v, c.hidden, c.hidden},
            {"attention", "dense", &LayerWeights::out, c.hidden, c.hidden},
            {"", "intermediate", &LayerWeights::up, c.hidden, c.ffn},
            {"", "output", &LayerWeights::down, c.ffn, c.hidden}};
  const std::int64_t width = c.heads * c.head_dim, kv_width = c.kv_heads * c.head_dim;
  std::vector<Projection> all{{"self_attn", "q_proj", &LayerWeights::q, c.hidden, width},
                              {"self_attn", "k_proj", &LayerWeights::k, c.hidden, kv_width},
                              {"self_attn", "v_proj", &LayerWeights::v, c.hidden, kv_width},
                              {"self_attn", "o_proj", &LayerWeights::out, width, c.hidden}};
  if (c.mlp == MlpKind::swiglu) all.push_back({"mlp", "gate_proj", &LayerWeights::gate, c.hidden, c.ffn});
  all.push_back({"mlp", "up_proj", &LayerWeights::up, c.hidden, c.ffn});
  all.push_back({"mlp", "down_proj", &LayerWeights::down, c.ffn, c.hidden});
  return all;
}

}  // namespace vramplan
