#include "model/prompts.h"

#include "tape/elementwise.h"
#include "tape/embedding.h"
#include "tape/linear.h"
#include "tape/view.h"

namespace vramplan {
namespace {

/// Numbers 0, 1, ... of the virtual tokens [b, v], which the host made.
Tensor token_numbers(Tape& t, const PromptWeights& w, std::int64_t b) {
  Tensor numbers = t.memory().empty({b, w.embedding.size(0)}, DType::int64, "_to_copy");
  count_in_rows(t, numbers, 0);
  return numbers;
}

/// PrefixEncoder.forward
Tensor encoded(Tape& t, const PromptWeights& w, const Tensor& numbers) {
  Tensor x = embedding(t, w.embedding, numbers);
  if (!w.up) return x;
  x = linear(t, x, w.up.weight, w.up.bias);
  x = tanh(t, x);
  return linear(t, x, w.down.weight, w.down.bias);
}

/// permute(2, 0, 3, 1, 4)
Tensor layers_first(Tape& t, const Tensor& x) { return transpose(t, transpose(t, transpose(t, x, 0, 2), 1, 2), 2, 3); }

}  // namespace

Given behind_prompt(Tape& t, const PromptWeights& w, const Tensor& tokens, const Tensor& labels) {
  At here(t, "prompt");
  const std::int64_t b = labels.size(0);
  Given g;
  g.prompt_labels = filled(t, {b, w.embedding.size(0)}, DType::int64, -100, "_to_copy");
  g.labels = cat(t, g.prompt_labels, labels, 1);
  Tensor prompt;
  {  // one sample's is made, and repeated
    const Tensor first = slice(t, token_numbers(t, w, b), 0, 0, 1);
    prompt = embedding(t, w.embedding, first);
    prompt = repeat(t, prompt, b);
  }
  g.prompt = cast(t, prompt, tokens.dtype());
  prompt.reset();
  g.embeddings = cat(t, g.prompt, tokens, 1);
  return g;
}

std::vector<Tensor> prefix_of(Tape& t, const ModelConfig& c, const PromptWeights& w, std::int64_t b, DType dtype) {
  At here(t, "prompt");
  Tensor all = encoded(t, w, token_numbers(t, w, b));
  all = cast(t, all, dtype);
  all = view(t, all, {b, w.embedding.size(0), 2 * c.layers, c.kv_heads, c.head_dim});
  std::vector<Tensor> cache;
  for (const Tensor& layer :
       split(t, layers_first(t, all), 0, std::vector<std::int64_t>(static_cast<std::size_t>(c.layers), 2))) {
    const Tensor both = slice(t, layer, 0, 0, 2);
    for (const Tensor& one : split(t, both, 0, {1, 1}))
      cache.push_back(cat_with_nothing(t, view(t, one, {b, c.kv_heads, w.embedding.size(0), c.head_dim})));
  }
  return cache;
}

}  // namespace vramplan
