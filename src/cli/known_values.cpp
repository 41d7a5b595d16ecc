#include "cli/known_values.h"

#include <algorithm>

#include "read/data.h"
#include "train/words.h"
#include "vramplan/hardware/card.h"

namespace vramplan {
namespace {

/// Those that need no quotes.
std::vector<std::string> card_words(const Context& context) {
  std::vector<std::string> out = card_names(Data(context.data_dir).gpus());
  std::erase_if(out, [](const std::string& name) { return name.find(' ') != std::string::npos; });
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace

std::vector<std::string> known_values(const std::string& flag, const Context& context) {
  if (flag == "gpu") return card_words(context);
  if (flag == "model") return Data(context.data_dir).models();
  const std::pair<std::string_view, std::vector<std::string>> known[]{
      {"precision", all_words(kPrecisions)},
      {"optimizer", all_words(kOptimizers)},
      {"optimizer-form", all_words(kForms)},
      {"attention", all_words(kAttentions)},
      {"loss", all_words(kLosses)},
      {"norm", all_words(kNorms)},
      {"mlp", all_words(kMlps)},
      {"position", all_words(kPositions)},
      {"dropout-mask", all_words(kMaskTypes)},
      {"ddp", all_words(kBuckets)},
      {"quant", all_words(kQuantKinds)},
      {"offload", {"optimizer", "boundaries", "optimizer,boundaries"}},
      {"checkpoint",
       {"none", "per-layer", "segments:", "sequential:", "every:", "first:", "cuts:", "selective:attention",
        "selective:mlp", "selective:attention+mlp+activation+norms"}},
      {"allocator", {"native", "expandable"}},
      {"color", {"auto", "always", "never"}},
      {"units", {"auto", "GiB", "GB", "MiB"}},
      {"max", {"micro-batch", "seq"}},
      {"smallest", {"gpu"}},
      {"min", {"recompute"}},
      {"backend", {"auto", "host"}}};
  for (const auto& [name, words] : known)
    if (name == flag) return words;
  return {};
}

}  // namespace vramplan
