#include "model/projections.h"

#include <algorithm>

#include "model/names.h"

namespace vramplan {
namespace {

using L = LayerWeights;

std::vector<Projection> of_bert(const ModelConfig& c) {
  const std::int64_t h = c.hidden;
  if (c.architecture == Architecture::distilbert)
    return {{"attention.q_lin", &L::q, h, h},     {"attention.k_lin", &L::k, h, h}, {"attention.v_lin", &L::v, h, h},
            {"attention.out_lin", &L::out, h, h}, {"ffn.lin1", &L::up, h, c.ffn},   {"ffn.lin2", &L::down, c.ffn, h}};
  return {{"attention.self.query", &L::q, h, h},    {"attention.self.key", &L::k, h, h},
          {"attention.self.value", &L::v, h, h},    {"attention.output.dense", &L::out, h, h},
          {"intermediate.dense", &L::up, h, c.ffn}, {"output.dense", &L::down, c.ffn, h}};
}

/// Of an encoder's layer, or of a decoder's with its second attention.
std::vector<Projection> of_bart(std::int64_t h, std::int64_t ffn, bool decoder) {
  std::vector<Projection> all{{"self_attn.k_proj", &L::k, h, h},
                              {"self_attn.v_proj", &L::v, h, h},
                              {"self_attn.q_proj", &L::q, h, h},
                              {"self_attn.out_proj", &L::out, h, h}};
  if (decoder)
    for (const Projection& p : {Projection{"encoder_attn.k_proj", &L::cross_k, h, h},
                                {"encoder_attn.v_proj", &L::cross_v, h, h},
                                {"encoder_attn.q_proj", &L::cross_q, h, h},
                                {"encoder_attn.out_proj", &L::cross_out, h, h}})
      all.push_back(p);
  all.push_back({"fc1", &L::up, h, ffn});
  all.push_back({"fc2", &L::down, ffn, h});
  return all;
}

}  // namespace

std::vector<Projection> projections(const ModelConfig& c) {
  const std::int64_t h = c.hidden;
  if (c.architecture == Architecture::gpt2)
    return {{"attn.c_attn", &L::qkv, h, 3 * h},
            {"attn.c_proj", &L::out, h, h},
            {"mlp.c_fc", &L::up, h, c.ffn},
            {"mlp.c_proj", &L::down, c.ffn, h}};
  if (c.encoder()) return of_bert(c);
  if (c.two_stacks()) return of_bart(h, c.ffn, true);
  const std::int64_t width = c.heads * c.head_dim, kv_width = c.kv_heads * c.head_dim;
  std::vector<Projection> all{{"self_attn.q_proj", &L::q, h, width},
                              {"self_attn.k_proj", &L::k, h, kv_width},
                              {"self_attn.v_proj", &L::v, h, kv_width},
                              {"self_attn.o_proj", &L::out, width, h}};
  if (is_gated(c.mlp)) all.push_back({"mlp.gate_proj", &L::gate, h, c.ffn});
  all.push_back({up_path(c.architecture), &L::up, h, c.ffn});
  all.push_back({down_path(c.architecture), &L::down, c.ffn, h});
  return all;
}

std::vector<Projection> source_projections(const ModelConfig& c) { return of_bart(c.hidden, c.source.ffn, false); }

std::optional<HeadProjection> head_projection(const ModelConfig& c) {
  if (!c.encoder()) return std::nullopt;
  const bool bert = c.architecture == Architecture::bert, roberta = c.architecture == Architecture::roberta;
  if (c.labels > 0)
    return HeadProjection{bert      ? "bert.pooler.dense"
                          : roberta ? "classifier.dense"
                                    : "pre_classifier",
                          [](Weights& w) -> LinearWeights& { return w.pooled.dense; }, c.hidden, c.hidden};
  return HeadProjection{bert      ? "cls.predictions.transform.dense"
                        : roberta ? "lm_head.dense"
                                  : "vocab_transform",
                        [](Weights& w) -> LinearWeights& { return w.masked.dense; }, c.hidden, c.hidden};
}

const char* embedding_path(const ModelConfig& c) {
  switch (c.architecture) {
    case Architecture::gpt2: return "transformer.wte";
    case Architecture::bert: return "bert.embeddings.word_embeddings";
    case Architecture::roberta: return "roberta.embeddings.word_embeddings";
    case Architecture::distilbert: return "distilbert.embeddings.word_embeddings";
    case Architecture::bart:
    case Architecture::textbook: return nullptr;
    default: return "model.embed_tokens";
  }
}

std::vector<std::string> adapter_modules(const ModelConfig& c) {
  std::vector<std::string> names;
  auto add = [&](const std::string& path) {
    const std::string name = path.substr(path.rfind('.') + 1);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const Projection& p : projections(c)) add(p.path);
  if (const char* embedding = embedding_path(c)) add(embedding);
  return names;
}

}  // namespace vramplan
