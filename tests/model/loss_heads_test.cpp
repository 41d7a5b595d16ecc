// Loss heads that mean the same give the same loss and gradients, however they are cut.
#include <doctest/doctest.h>

#include <cmath>

#include "backend/host.h"
#include "small_models.h"
#include "train/trainer.h"

using namespace vramplan;

namespace {

struct Result {
  float loss;
  std::vector<float> head_gradient, first_gradient;
};

Result train_once(LossChoice loss) {
  HostBackend host;
  TrainOptions r = test::small_run();
  r.loss = loss;
  const ModelConfig c = test::small_llama();
  Trainer t(host, c, r);
  t.forward_backward();
  auto values = [](const Tensor& w) {
    const Tensor g(w->grad);
    return std::vector<float>(g.data<float>(), g.data<float>() + g.numel());
  };
  return {*t.loss().data<float>(), values(t.weights().head), values(t.weights().layers[0].norm1.weight)};
}

void check_equal(const Result& a, const Result& b) {
  CHECK(a.loss == doctest::Approx(b.loss).epsilon(1e-5));
  for (const auto& [x, y] : {std::pair{&a.head_gradient, &b.head_gradient}, {&a.first_gradient, &b.first_gradient}}) {
    REQUIRE(x->size() == y->size());
    double worst = 0;
    for (std::size_t i = 0; i < x->size(); ++i) worst = std::max(worst, std::abs(double((*x)[i]) - double((*y)[i])));
    CHECK(worst < 1e-6);
  }
}

}  // namespace

TEST_CASE("a fused linear loss is the causal one") {
  check_equal(train_once({LossForm::causal}), train_once({LossForm::fused_linear}));
}

TEST_CASE("the older causal loss leaves out the same last token") {
  check_equal(train_once({LossForm::causal}), train_once({LossForm::shifted}));
}

TEST_CASE("a loss in parts is the plain one") {
  check_equal(train_once({LossForm::plain}), train_once({LossForm::chunked, 4}));
  check_equal(train_once({LossForm::plain}), train_once({LossForm::chunked, 1}));
}

TEST_CASE("label smoothing mixes two losses") {
  const Result sharp = train_once({LossForm::shifted}), smooth = train_once({LossForm::smoothed});
  CHECK(smooth.loss != doctest::Approx(sharp.loss));
  CHECK(std::abs(smooth.loss - sharp.loss) < 0.1F * sharp.loss);
}

TEST_CASE("a classifier starts at the logarithm of its labels, and learns") {
  HostBackend host;
  TrainOptions r = test::small_run();
  r.loss = {LossForm::classification};
  r.optimizer.lr = 1e-2;
  const ModelConfig c = classifier(test::small_llama(), 5);
  Trainer t(host, c, r);
  CHECK(t.weights().head.shape() == Dims{5, c.hidden});
  CHECK(parameter_count(c) == parameter_count(test::small_llama()) + (5 - c.vocab) * c.hidden);  // it is not tied
  t.step();
  const float first = *t.loss().data<float>();
  CHECK(first == doctest::Approx(std::log(5)).epsilon(0.2));
  for (int i = 0; i < 10; ++i) t.step();
  CHECK(*t.loss().data<float>() < 0.5F * first);
}

TEST_CASE("heads of labels that are numbers start where a head that knows nothing does, and learn") {
  for (const ModelConfig& plain : {test::small_llama(), test::small_encoder(Architecture::bert)})
    for (const auto& [form, labels, first_loss] :
         {std::tuple{LossForm::multi_label, 6, std::log(2.0)}, std::tuple{LossForm::regression, 1, 1.0},
          std::tuple{LossForm::regression, 4, 1.0}}) {
      HostBackend host;
      TrainOptions r = test::small_run();
      r.loss = {form};
      r.optimizer.lr = 1e-2;
      const ModelConfig c = classifier(plain, labels);
      CAPTURE(c.encoder());
      CAPTURE(labels);
      Trainer t(host, c, r);
      t.step();
      const auto first = static_cast<double>(*t.loss().data<float>());
      CHECK(first == doctest::Approx(first_loss).epsilon(0.25));
      for (int i = 0; i < 10; ++i) t.step();
      CHECK(static_cast<double>(*t.loss().data<float>()) < 0.5 * first);
    }
}
