// A suggestion is a misspelling mended, never another word.
#include <doctest/doctest.h>

#include "base/suggest.h"

using namespace vramplan;

TEST_CASE("no suggestion crosses a family, a number or a meaning") {
  struct Pair {
    const char *asked, *known;
  };
  for (const Pair& p : {Pair{"mixtral", "mistral"},
                        {"gptj", "gpt2"},
                        {"gemma2", "gemma"},
                        {"Llama-3-8B", "llama-2-7b"},
                        {"t5", "gpt2"},
                        {"qwen3-8b", "qwen3-4b"},
                        {"llama-3.1-8b", "llama-3.2-1b"}}) {
    CAPTURE(p.asked);
    CHECK(closest(p.asked, {p.known}, Meant::model).empty());
  }
  for (const Pair& p : {Pair{"--zero", "--norm"},
                        {"--fsdp", "--ddp"},
                        {"--dpo", "--ddp"},
                        {"serve", "curve"},
                        {"fp17", "fp16"},
                        {"--tp", "--b"},
                        {"--pp", "--mlp"}}) {
    CAPTURE(p.asked);
    CHECK(closest(p.asked, {p.known}).empty());
  }
  CHECK(closest("m3-max", {"m3-8gb"}, Meant::card).empty());
  CHECK(closest("rtx-4091", {"rtx-4090"}, Meant::card).empty());
}

TEST_CASE("slips are mended: a letter too many, too few, another, two swapped, the dashes") {
  CHECK(closest("estimte", {"estimate"}) == "estimate");
  CHECK(closest("--modle", {"--model"}) == "--model");
  CHECK(closest("optimiser", {"optimizer"}) == "optimizer");
  CHECK(closest("gpt-2", {"gpt2"}, Meant::model) == "gpt2");
  CHECK(closest("lama", {"gemma", "llama"}, Meant::model) == "llama");
  CHECK(closest("rxt-4090", {"rtx-4090"}, Meant::card) == "rtx-4090");
  CHECK(closest("gema-2b", {"gemma-2b"}, Meant::model) == "gemma-2b");
}

TEST_CASE("what is knowingly not modelled is said to be so, with the next step") {
  for (const char* word : {"--zero", "--fsdp", "tp", "--pp", "--tensor-parallel-size", "dpo", "packing", "deepspeed"}) {
    CAPTURE(word);
    CHECK(did_you_mean(word, {}, "x").starts_with("not modelled yet: "));
    CHECK(did_you_mean(word, {}, "x").find("vramplan rehearse") != std::string::npos);
  }
  for (const char* word : {"mixtral", "mistralai/Mixtral-8x7B-v0.1", "gptj", "gpt-j-6b", "t5-small",
                           "google/flan-t5-xl", "gemma2", "deepseek-v3", "phi-2", "opt-350m", "facebook/opt-350m"}) {
    CAPTURE(word);
    CHECK(did_you_mean(word, {}, "x", Meant::model).starts_with("not modelled yet: "));
  }
}

TEST_CASE("words of one kind are not taken for another kind's") {
  // Flags may begin as models do, and cards are called as they like.
  for (const char* word : {"--clip", "--opt-level", "--optimizer", "optimizer", "moe", "phi"}) {
    CAPTURE(word);
    CHECK(not_modelled(word, Meant::word).empty());
  }
  CHECK(not_modelled("t5", Meant::card).empty());
  for (const char* model :
       {"gpt2", "llama-3.1-8b", "gemma-2b", "gemma-3-1b", "mistral-7b-v0.1", "olmo-2-7b", "bert-base-uncased",
        "starcoder2-3b", "bart-base", "smollm2-135m", "qwen2.5-7b", "qwen3-8b", "granite-3.3-8b"}) {
    CAPTURE(model);
    CHECK(not_modelled(model, Meant::model).empty());
  }
}
