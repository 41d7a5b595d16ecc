// Published parameter counts, and the weights that are really made.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "backend/dry.h"
#include "model/weights.h"
#include "read/data.h"
#include "read/model_config.h"
#include "small_models.h"

using namespace vramplan;

TEST_CASE("every preset has its published number of parameters") {
  const Data data;
  const auto published = nlohmann::json::parse(read_file(TEST_ROOT "/data/parameter_counts.json")).at("models");
  CHECK(published.size() == data.models().size());
  for (const std::string& name : data.models()) {
    CAPTURE(name);
    REQUIRE(published.contains(name));
    CHECK(parameter_count(read_model_config(data.model(name), name).config) ==
          published.at(name).at("parameters").get<std::int64_t>());
  }
}

TEST_CASE("classifiers of two labels on encoders have their published number of parameters") {
  // transformers' ForSequenceClassification, as its users print it: num_parameters().
  const Data data;
  for (const auto& [name, count] : {std::pair{"bert-base-uncased", 109483778},
                                    {"roberta-base", 124647170},
                                    {"distilbert-base-uncased", 66955010},
                                    {"bert-large-uncased", 335143938}}) {
    CAPTURE(name);
    CHECK(parameter_count(classifier(read_model_config(data.model(name), name).config, 2)) == count);
  }
}

TEST_CASE("llm.c pads GPT-2's vocabulary to 50304: 124,475,904 parameters") {
  ModelConfig c = read_model_config(Data().model("gpt2"), "gpt2").config;
  c.vocab = 50304;
  CHECK(parameter_count(c) == 124475904);
}

TEST_CASE("llama-3-8b: one layer has 218,112,000 parameters") {
  CHECK(layer_parameter_count(read_model_config(Data().model("llama-3.1-8b"), "l").config) == 218112000);
}

TEST_CASE("the count equals the tensors made, and no parameter is named twice") {
  for (const test::NamedModel& m : test::small_models()) {
    CAPTURE(m.name);
    DryBackend backend;
    Ledger ledger;
    Memory memory(backend, ledger);
    Tape tape(memory);
    const Weights w = make_weights(tape, m.config, DType::bf16);
    std::int64_t made = 0;
    std::set<std::string> names;
    for (const Parameter& p : w.parameters) {
      made += p.tensor.numel();
      CHECK(names.insert(p.name).second);
      CHECK(p.tensor.requires_grad());
    }
    CHECK(made == parameter_count(m.config));
  }
}

TEST_CASE("counting past 64 bits is an error") {
  ModelConfig c = test::small_llama();
  c.hidden = std::int64_t{1} << 40;
  c.ffn = std::int64_t{1} << 40;
  CHECK_THROWS_AS(parameter_count(c), Overflow);
}
