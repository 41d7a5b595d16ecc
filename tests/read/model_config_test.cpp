#include "read/model_config.h"

#include <doctest/doctest.h>

#include "random.h"

#include "read/data.h"
#include "vramplan/base/error.h"

using namespace vramplan;

namespace {

const char* const kLlama =
    R"({"model_type":"llama","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":96,"vocab_size":100)";

std::string llama(const std::string& more) { return std::string(kLlama) + (more.empty() ? "" : ",") + more + "}"; }

std::string gemma3(const std::string& more) {
  return R"({"model_type":"gemma3_text","hidden_size":64,"num_hidden_layers":12,"num_attention_heads":4,)"
         R"("num_key_value_heads":1,"intermediate_size":96,"vocab_size":100)" +
         (more.empty() ? "" : "," + more) + "}";
}

UserError failure(const std::string& text) {
  try {
    read_model_config(text, "config.json");
  } catch (const UserError& e) {
    return e;
  }
  FAIL("taken: " << text);
  return UserError("");
}

}  // namespace

TEST_CASE("defaults that a file may leave out are those of the class") {
  const ModelConfig l = read_model_config(llama(""), "c").config;
  CHECK(l.kv_heads == 4);
  CHECK(l.head_dim == 16);
  CHECK_FALSE(l.tied);
  CHECK_FALSE(l.window);
  const ModelConfig g = read_model_config(R"({"model_type":"gpt2","n_embd":64,"n_layer":2,"n_head":4})", "c").config;
  CHECK(g.tied);
  CHECK(g.ffn == 256);
  CHECK(g.vocab == 50257);
  CHECK(g.residual_dropout == 0.1);
  const std::string body =
      R"("hidden_size":64,"num_hidden_layers":30,"num_attention_heads":8,"intermediate_size":96,"vocab_size":100)";
  CHECK(*read_model_config(R"({"model_type":"mistral",)" + body + "}", "c").config.window == 4096);
  CHECK_FALSE(read_model_config(R"({"model_type":"mistral","sliding_window":null,)" + body + "}", "c").config.window);
  const ModelConfig q =
      read_model_config(
          R"({"model_type":"qwen2","num_key_value_heads":2,"use_sliding_window":true,"sliding_window":9,"max_window_layers":20,)" +
              body + "}",
          "c")
          .config;
  CHECK(q.qkv_bias);
  CHECK_FALSE(q.sliding(19));
  CHECK(q.sliding(20));
  CHECK_FALSE(read_model_config(R"({"model_type":"qwen2","num_key_value_heads":2,)" + body + "}", "c").config.window);
}

TEST_CASE("what a class makes of its layers, though a file is silent") {
  const ModelConfig g = read_model_config(gemma3(""), "c").config;
  for (std::int64_t i = 0; i < 12; ++i) CHECK(g.sliding(i) == (i != 5 && i != 11));
  CHECK(g.tied);
  CHECK(g.head_dim == 256);
  CHECK(g.window == 4096);
  const ModelConfig b =
      read_model_config(R"({"model_type":"bart","d_model":96,"encoder_layers":3,"decoder_layers":5,)"
                        R"("encoder_attention_heads":2,"encoder_ffn_dim":70,"decoder_attention_heads":4})",
                        "c")
          .config;
  CHECK(b.source == SourceStack{3, 2, 70});
  CHECK(b.layers == 5);
  CHECK(b.ffn == 4096);
  CHECK(b.most_segments() == 3);
  CHECK(b.two_stacks());
  CHECK_FALSE(b.decoder());
}

TEST_CASE("every defect is an error with its JSON path and a next step") {
  struct Row {
    std::string text, where, what;
  };
  for (const Row& r :
       {Row{R"({"model_type":"lama"})", "config.json: $.model_type", "'lama'"},
        Row{R"({"hidden_size":3})", "config.json: $.model_type", "missing"},
        Row{R"([1])", "config.json: $", "expected an object"},
        Row{"{", "config.json", "not valid JSON"},
        Row{R"({"model_type":"llama","hidden_size":"64"})", "config.json: $.hidden_size", "whole number"},
        Row{R"({"model_type":"llama","hidden_size":64.5})", "config.json: $.hidden_size", "whole number"},
        Row{R"({"model_type":"llama","hidden_size":99999999999999999999})", "config.json: $.hidden_size",
            "whole number"},
        Row{llama(R"("hidden_size":64)"), "config.json", "stands twice"},
        Row{llama(R"("num_key_value_heads":3)"), "config.json", "cannot share"},
        Row{llama(R"("tie_word_embeddings":1)"), "config.json: $.tie_word_embeddings", "true or false"},
        Row{llama(R"("hidden_act":"gelu")"), "config.json: $.hidden_act", "not modelled"},
        Row{llama(R"("quantization_config":{"quant_method":"gptq"})"), "config.json: $.quantization_config",
            "not modelled"},
        Row{llama(R"("num_local_experts":8)"), "config.json: $.num_local_experts", "not modelled"},
        Row{llama(R"("head_dim":0)"), "config.json", "at least 1"},
        Row{llama(R"("attention_dropout":1.0)"), "config.json", "dropout"},
        Row{llama(R"("layer_types":["full_attention","sliding_attention"])"), "config.json: $.layer_types",
            "order of layers"},
        Row{R"({"model_type":"bart","encoder_layerdrop":0.1})", "config.json: $.encoder_layerdrop",
            "left out at random"},
        Row{R"({"model_type":"bart","encoder_attention_heads":3})", "config.json", "do not divide"},
        Row{R"({"model_type":"bart","encoder_layers":0})", "config.json", "at least 1"},
        Row{gemma3(R"("final_logit_softcapping":30.0)"), "config.json: $.final_logit_softcapping", "softcapping"},
        Row{gemma3(R"("hidden_activation":"silu")"), "config.json: $.hidden_activation", "not modelled"}}) {
    CAPTURE(r.text);
    const UserError e = failure(r.text);
    CHECK(e.where == r.where);
    CHECK(std::string(e.what()).find(r.what) != std::string::npos);
    CHECK(e.status == Exit::bad_input);
  }
  CHECK(failure(R"({"model_type":"lama"})").hint == "did you mean 'llama'?");
}

TEST_CASE("a key nobody knows is a warning, a harmless one is not") {
  const auto read = read_model_config(llama(R"("use_cache":true,"hidden_sise":4)"), "config.json");
  REQUIRE(read.warnings.size() == 1);
  CHECK(read.warnings[0].find("$.hidden_sise") != std::string::npos);
}

TEST_CASE("published configurations raise no warning") {
  const Data data;
  for (const std::string& name : data.models()) {
    CAPTURE(name);
    CHECK(read_model_config(data.model(name), name).warnings.empty());
  }
}

TEST_CASE("damaged files are read or refused, never crash") {
  const Data data;
  test::Random random(5);
  for (const std::string& name :
       {std::string("gpt2"), std::string("llama-3.1-8b"), std::string("qwen2.5-0.5b"), std::string("mistral-7b-v0.1"),
        std::string("bart-base"), std::string("gemma-3-1b")}) {
    const std::string whole = data.model(name);
    for (int i = 0; i < 1500; ++i) {
      std::string text = whole;
      for (unsigned n = 1 + random() % 3; n > 0 && !text.empty(); --n) {
        const std::size_t at = random() % text.size();
        switch (random() % 4) {
          case 0: text[at] = static_cast<char>(random()); break;
          case 1: text.erase(at, 1 + random() % 8); break;
          case 2: text.insert(at, std::string(1, "0123456789{}[],:\"-"[random() % 18])); break;
          default: text.resize(at + 1); break;
        }
      }
      try {
        const ModelConfig c = read_model_config(text, "c").config;
        CHECK(c.heads % c.kv_heads == 0);
      } catch (const UserError&) {
      }
    }
  }
}

TEST_CASE("presets: unknown names suggest, folders replace what is compiled in") {
  try {
    Data().model("llama-3.1-8");
    FAIL("taken");
  } catch (const UserError& e) {
    CHECK(e.hint == "did you mean 'llama-3.1-8b'?");
  }
  CHECK_THROWS_AS(Data("/nonexistent"), UserError);
  const Data folder(TEST_ROOT "/../data");
  CHECK(folder.models() == Data().models());
  CHECK(folder.gpus() == Data().gpus());
}
