#include "base/not_modelled.h"

#include <algorithm>
#include <cctype>

namespace vramplan {
namespace {

struct Thing {
  std::string_view what;   ///< for a reader
  std::string_view words;  ///< that name it, folded, a blank around each
  bool begins = false;     ///< names begin with these words: "t5" of "t5-small"
  bool model = false;      ///< only where a model is named: "clip" and "opt" begin flags too
};

constexpr Thing kThings[]{
    {"sharded training (ZeRO, FSDP, DeepSpeed)",
     " zero zero1 zero2 zero3 zerostage deepspeed fsdp fsdp2 fullshard hsdp offloadparams "},
    {"tensor, pipeline, context and expert parallelism",
     " tp tensorparallel tensorparallelsize tpsize pp pipelineparallel pipelineparallelsize ppsize cp contextparallel "
     "sp sequenceparallel ep expertparallel "},
    {"several cards at once", " gpus numgpus ngpus nodes nnodes worldsize nprocpernode "},
    {"preference and reinforcement training (a second model, sampling)",
     " dpo ppo grpo orpo kto rlhf rloo rewardmodel refmodel "},
    {"compiled training", " torchcompile compile inductor cudagraphs "},
    {"packed sequences", " packing samplepacking neatpacking "},
    {"mixtures of experts",
     " mixtral qwen2moe qwen3moe deepseek gptoss phimoe dbrx jetmoe olmoe granitemoe grok glm4moe moe ", true, true},
    {"this family of models",
     " gptj gptneo gptneox gptbigcode bloom opt falcon mpt t5 flant5 mt5 umt5 longt5 byt5 phi phi2 phi3 phi4 gemma2 "
     "gemma3n gemma4 llama4 cohere commandr stablelm deberta electra albert xlnet mamba mamba2 rwkv persimmon codegen "
     "xglm pythia dolly internlm baichuan chatglm glm4 yi olmo1 olmo3 exaone nemotron minicpm smollm3 modernbert "
     "mbart pegasus marian led longformer bigbird xlm xlmroberta camembert starcoder ministral ",
     true, true},
    {"models of images and sound",
     " vit clip siglip dinov2 whisper wav2vec2 llava idefics paligemma pixtral qwen2vl qwen25vl qwen3vl mllama unet "
     "stablediffusion sdxl flux resnet swin convnext deit ",
     true, true},
    {"this optimizer",
     " lamb lars adagrad rmsprop rprop adadelta nadam radam sophia shampoo soap came adopt galore qgalore lomo adalomo "
     "ademamix apollo badam adammini prodigy dadaptation schedulefree schedulefreeadamw schedulefreesgd "
     "schedulefreeradam lbfgs ",
     true},
    {"these few bits", " gptq awq hqq eetq aqlm fp6 mxfp4 nvfp4 int4 "},
};

/// Lower case, letters and digits only, the publisher of "publisher/model" taken off.
std::string plain_word(std::string_view word) {
  word = word.substr(word.rfind('/') == std::string_view::npos ? 0 : word.rfind('/') + 1);
  std::string out;
  for (const char c : word)
    if (std::isalnum(static_cast<unsigned char>(c)))
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool names(const Thing& thing, const std::string& word) {
  return !word.empty() && thing.words.find(" " + word + " ") != std::string_view::npos;
}

/// Whether one of the beginnings of `word` that end at a separator names the thing: "gpt-j" of "gpt-j-6b", but not
/// "opt" of "optimizer", nor "starcoder" of "starcoder2".
bool begins_with(const Thing& thing, std::string_view word) {
  word = word.substr(word.rfind('/') == std::string_view::npos ? 0 : word.rfind('/') + 1);
  for (std::size_t end = 1; end < word.size(); ++end)
    if (!std::isalnum(static_cast<unsigned char>(word[end])) && names(thing, plain_word(word.substr(0, end))))
      return true;
  return false;
}

}  // namespace

std::string not_modelled(std::string_view word, Meant meant) {
  constexpr std::size_t kLongest = 200;  // nothing is called so
  if (word.size() > kLongest || meant == Meant::card) return {};
  const std::string plain = plain_word(word);
  const auto is_meant = [&](const Thing& t) {
    return (!t.model || meant == Meant::model) && (names(t, plain) || (t.begins && begins_with(t, word)));
  };
  const auto* const found = std::find_if(std::begin(kThings), std::end(kThings), is_meant);
  if (found == std::end(kThings)) return {};
  return "not modelled yet: " + std::string(found->what) +
         "; 'vramplan rehearse --gpu CARD -- python train.py' runs your own script without a card";
}

}  // namespace vramplan
