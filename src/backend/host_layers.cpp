// Softmax, norms, dropout, embeddings, the loss and attention of the host backend.
#include <algorithm>
#include <limits>

#include "backend/host.h"
#include "backend/host_number.h"

namespace vramplan {

using host::Look;
using host::look;
using host::packed;
using host::unpack;

namespace {

struct Rows {
  explicit Rows(const Tensor& t) : width(t.size(-1)), count(width ? t.numel() / width : 0) {}
  std::int64_t width, count;
};

std::int64_t id_at(const Tensor& ids, std::int64_t i) {
  // int64 does not survive a float: read it as it is. Targets and ids are contiguous.
  return ids.data<const std::int64_t>()[i];
}

/// Probabilities of one query row, before dropout, from its log-sum-exp.
class ScoreRow {
 public:
  ScoreRow(const Tensor& q, const Tensor& k, const Tensor& bias, const AttentionArgs& args)
      : q_(packed(q)),
        k_(packed(k)),
        args_(args),
        a_(q.size(1)),
        s_(q.size(2)),
        t_(k.size(2)),
        d_(q.size(3)),
        group_(a_ / k.size(1)) {
    if (bias) bias_.emplace_back(bias, Dims{q.size(0), a_, s_, t_});
  }
  void scores(std::int64_t b, std::int64_t h, std::int64_t i, std::vector<float>& out) const {
    const float* query = q_.data() + ((b * a_ + h) * s_ + i) * d_;
    for (std::int64_t j = 0; j < t_; ++j) {
      float x = -std::numeric_limits<float>::infinity();
      if (!args_.causal || j <= i) {
        const float* key = k_.data() + ((b * (a_ / group_) + h / group_) * t_ + j) * d_;
        x = 0;
        for (std::int64_t c = 0; c < d_; ++c) x += query[c] * key[c];
        x *= static_cast<float>(args_.scale);
        if (!bias_.empty()) x += bias_[0][((b * a_ + h) * s_ + i) * t_ + j];
      }
      out[static_cast<std::size_t>(j)] = x;
    }
  }
  bool kept(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return args_.dropout == 0 ||
           host::uniform(args_.random, static_cast<std::uint64_t>(((b * a_ + h) * s_ + i) * t_ + j)) >= args_.dropout;
  }
  const std::vector<float>& q() const { return q_; }
  const std::vector<float>& k() const { return k_; }

 private:
  std::vector<float> q_, k_;
  std::vector<Look> bias_;
  AttentionArgs args_;
  std::int64_t a_, s_, t_, d_, group_;
};

}  // namespace

void HostBackend::softmax(const Tensor& y, const Tensor& x, bool log) {
  const Look out = look(y), in = look(x);
  const Rows rows(x);
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const std::int64_t at = r * rows.width;
    float top = -std::numeric_limits<float>::infinity();
    for (std::int64_t i = 0; i < rows.width; ++i) top = std::max(top, in[at + i]);
    double total = 0;
    for (std::int64_t i = 0; i < rows.width; ++i) total += std::exp(static_cast<double>(in[at + i] - top));
    for (std::int64_t i = 0; i < rows.width; ++i) {
      const double shifted = static_cast<double>(in[at + i] - top);
      out.set(at + i, static_cast<float>(log ? shifted - std::log(total) : std::exp(shifted) / total));
    }
  }
}

void HostBackend::softmax_backward(const Tensor& dx, const Tensor& dy, const Tensor& y, bool log) {
  const Look out = look(dx), gradient = look(dy), result = look(y);
  const Rows rows(y);
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const std::int64_t at = r * rows.width;
    double total = 0;
    for (std::int64_t i = at; i < at + rows.width; ++i)
      total += static_cast<double>(gradient[i]) * (log ? 1.0 : static_cast<double>(result[i]));
    for (std::int64_t i = at; i < at + rows.width; ++i) {
      const double g = static_cast<double>(gradient[i]), p = static_cast<double>(result[i]);
      out.set(i, static_cast<float>(log ? g - std::exp(p) * total : p * (g - total)));
    }
  }
}

void HostBackend::dropout(const Tensor& y, const Tensor& mask, const Tensor& x, double p, RandomKey key) {
  const Look out = look(y), kept = look(mask), in = look(x);
  const auto factor = static_cast<float>(1 / (1 - p));
  for (std::int64_t i = 0, n = x.numel(); i < n; ++i) {
    const bool keep = host::uniform(key, static_cast<std::uint64_t>(i)) >= p;
    kept.set(i, keep ? 1.0F : 0.0F);
    out.set(i, keep ? in[i] * factor : 0.0F);
  }
}

void HostBackend::layer_norm(const Tensor& y, const Tensor& mean, const Tensor& rstd, const Tensor& x, const Tensor& w,
                             const Tensor& b, double eps) {
  const Look out = look(y), in = look(x), weight = look(w), bias = look(b);
  const Rows rows(x);
  const auto width = static_cast<double>(rows.width);
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const std::int64_t at = r * rows.width;
    double m = 0, v = 0;
    for (std::int64_t i = 0; i < rows.width; ++i) m += static_cast<double>(in[at + i]) / width;
    for (std::int64_t i = 0; i < rows.width; ++i) v += std::pow(static_cast<double>(in[at + i]) - m, 2) / width;
    const double k = 1 / std::sqrt(v + eps);
    look(mean).set(r, static_cast<float>(m));
    look(rstd).set(r, static_cast<float>(k));
    for (std::int64_t i = 0; i < rows.width; ++i)
      out.set(at + i, static_cast<float>((static_cast<double>(in[at + i]) - m) * k) * weight[i] + bias[i]);
  }
}

void HostBackend::layer_norm_backward(const Tensor& dx, const Tensor& dw, const Tensor& db, const Tensor& dy,
                                      const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& w) {
  const Look out = look(dx), gradient = look(dy), in = look(x), weight = look(w), means = look(mean),
             scales = look(rstd);
  const Rows rows(x);
  std::vector<double> to_weight(static_cast<std::size_t>(rows.width), 0.0), to_bias = to_weight;
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const std::int64_t at = r * rows.width;
    const double m = static_cast<double>(means[r]), k = static_cast<double>(scales[r]),
                 width = static_cast<double>(rows.width);
    double plain = 0, along = 0;
    for (std::int64_t i = 0; i < rows.width; ++i) {
      const double hat = (static_cast<double>(in[at + i]) - m) * k, g = static_cast<double>(gradient[at + i]);
      plain += g * static_cast<double>(weight[i]) / width;
      along += g * static_cast<double>(weight[i]) * hat / width;
      to_weight[static_cast<std::size_t>(i)] += g * hat;
      to_bias[static_cast<std::size_t>(i)] += g;
    }
    for (std::int64_t i = 0; i < rows.width; ++i) {
      const double hat = (static_cast<double>(in[at + i]) - m) * k;
      out.set(at + i, static_cast<float>(k * (static_cast<double>(gradient[at + i]) * static_cast<double>(weight[i]) -
                                              plain - hat * along)));
    }
  }
  for (std::int64_t i = 0; i < rows.width; ++i) {
    look(dw).set(i, static_cast<float>(to_weight[static_cast<std::size_t>(i)]));
    look(db).set(i, static_cast<float>(to_bias[static_cast<std::size_t>(i)]));
  }
}

void HostBackend::rms_norm(const Tensor& y, const Tensor& rstd, const Tensor& x, const Tensor& w, double eps) {
  const Look out = look(y), in = look(x), weight = look(w);
  const Rows rows(x);
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const std::int64_t at = r * rows.width;
    double v = 0;
    for (std::int64_t i = 0; i < rows.width; ++i)
      v += std::pow(static_cast<double>(in[at + i]), 2) / static_cast<double>(rows.width);
    const double k = 1 / std::sqrt(v + eps);
    look(rstd).set(r, static_cast<float>(k));
    for (std::int64_t i = 0; i < rows.width; ++i)
      out.set(at + i, static_cast<float>(static_cast<double>(in[at + i]) * k) * weight[i]);
  }
}

void HostBackend::rms_norm_backward(const Tensor& dx, const Tensor& dw, const Tensor& dy, const Tensor& x,
                                    const Tensor& rstd, const Tensor& w) {
  const Look out = look(dx), gradient = look(dy), in = look(x), weight = look(w), scales = look(rstd);
  const Rows rows(x);
  std::vector<double> to_weight(static_cast<std::size_t>(rows.width), 0.0);
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const std::int64_t at = r * rows.width;
    const double k = static_cast<double>(scales[r]);
    double along = 0;
    for (std::int64_t i = 0; i < rows.width; ++i) {
      const double hat = static_cast<double>(in[at + i]) * k, g = static_cast<double>(gradient[at + i]);
      along += g * static_cast<double>(weight[i]) * hat / static_cast<double>(rows.width);
      to_weight[static_cast<std::size_t>(i)] += g * hat;
    }
    for (std::int64_t i = 0; i < rows.width; ++i) {
      const double hat = static_cast<double>(in[at + i]) * k;
      out.set(at + i, static_cast<float>(
                          k * (static_cast<double>(gradient[at + i]) * static_cast<double>(weight[i]) - hat * along)));
    }
  }
  for (std::int64_t i = 0; i < rows.width; ++i)
    look(dw).set(i, static_cast<float>(to_weight[static_cast<std::size_t>(i)]));
}

void HostBackend::embedding(const Tensor& y, const Tensor& w, const Tensor& ids) {
  const Look out = look(y), weight = look(w);
  const std::int64_t width = w.size(1);
  for (std::int64_t r = 0, n = ids.numel(); r < n; ++r)
    for (std::int64_t i = 0; i < width; ++i) out.set(r * width + i, weight[id_at(ids, r) * width + i]);
}

void HostBackend::embedding_backward(const Tensor& dw, const Tensor& dy, const Tensor& ids) {
  const Look gradient = look(dy);
  const std::int64_t width = dw.size(1);
  std::vector<float> total(static_cast<std::size_t>(dw.numel()), 0.0F);
  for (std::int64_t r = 0, n = ids.numel(), distinct = ids.distinct(); r < n; ++r)
    for (std::int64_t i = 0; i < width; ++i)
      total[static_cast<std::size_t>(id_at(ids, r % distinct) * width + i)] += gradient[r * width + i];
  unpack(total, dw);
}

void HostBackend::nll(const Tensor& loss, const Tensor& total, const Tensor& log_probs, const Tensor& target) {
  const Look in = look(log_probs);
  const Rows rows(log_probs);
  double sum = 0;
  std::int64_t counted = 0;
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const std::int64_t t = id_at(target, r);
    if (t < 0) continue;
    sum -= static_cast<double>(in[r * rows.width + t]);
    ++counted;
  }
  look(total).set(0, static_cast<float>(counted));
  look(loss).set(0, static_cast<float>(counted ? sum / static_cast<double>(counted) : 0.0));
}

void HostBackend::gather(const Tensor& y, const Tensor& x, const Tensor& index) {
  const Look out = look(y), in = look(x);
  for (std::int64_t i = 0, n = y.numel(); i < n; ++i) out.set(i, in[i * x.size(-1) + id_at(index, i)]);
}

void HostBackend::scatter(const Tensor& dx, const Tensor& dy, const Tensor& index) {
  const Look out = look(dx), in = look(dy);
  for (std::int64_t i = 0, n = dy.numel(); i < n; ++i) out.set(i * dx.size(-1) + id_at(index, i), in[i]);
}

void HostBackend::cross_entropy_gradient(const Tensor& logits, const Tensor& losses, const Tensor& target,
                                         const Tensor& all) {
  const Look x = look(logits), loss = look(losses);
  const Rows each(logits);
  std::int64_t counted = 0;
  for (std::int64_t i = 0, n = all.numel(); i < n; ++i) counted += id_at(all, i) >= 0;
  const float share = 1 / static_cast<float>(counted);
  for (std::int64_t r = 0; r < each.count; ++r) {
    const std::int64_t first = r * each.width, label = id_at(target, r);
    float highest = x[first], sum = 0;
    for (std::int64_t i = 0; i < each.width; ++i) highest = std::max(highest, x[first + i]);
    for (std::int64_t i = 0; i < each.width; ++i) sum += std::exp(x[first + i] - highest);
    loss.set(r, label < 0 ? 0 : share * (highest + std::log(sum) - x[first + label]));
    for (std::int64_t i = 0; i < each.width; ++i) {
      const float p = std::exp(x[first + i] - highest) / sum;
      x.set(first + i, label < 0 ? 0 : share * (p - (i == label ? 1.0F : 0.0F)));
    }
  }
}

void HostBackend::nll_backward(const Tensor& dx, const Tensor& dloss, const Tensor& target, const Tensor& total) {
  fill(dx, 0);
  const Look out = look(dx);
  const Rows rows(dx);
  const float share = look(dloss)[0] / look(total)[0];
  for (std::int64_t r = 0; r < rows.count; ++r)
    if (const std::int64_t t = id_at(target, r); t >= 0) out.set(r * rows.width + t, -share);
}

void HostBackend::attention(const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k, const Tensor& v,
                            const Tensor& bias, const AttentionArgs& args) {
  const ScoreRow rows(q, k, bias, args);
  const std::vector<float> values = packed(v);
  const std::int64_t a = q.size(1), s = q.size(2), t = k.size(2), d = v.size(3), group = a / k.size(1);
  const Look result = look(out);
  std::vector<float> x(static_cast<std::size_t>(t));
  std::vector<double> sum(static_cast<std::size_t>(d));
  const double factor = 1 / (1 - args.dropout);
  for (std::int64_t b = 0; b < q.size(0); ++b)
    for (std::int64_t h = 0; h < a; ++h)
      for (std::int64_t i = 0; i < s; ++i) {
        rows.scores(b, h, i, x);
        const double top = static_cast<double>(*std::max_element(x.begin(), x.end()));
        double total = 0;
        for (float f : x) total += std::exp(static_cast<double>(f) - top);
        if (lse) look(lse).set((b * a + h) * lse.size(2) + i, static_cast<float>(top + std::log(total)));
        std::fill(sum.begin(), sum.end(), 0.0);
        for (std::int64_t j = 0; j < t; ++j) {
          if (!rows.kept(b, h, i, j)) continue;
          const double p = std::exp(static_cast<double>(x[static_cast<std::size_t>(j)]) - top) / total * factor;
          for (std::int64_t c = 0; c < d; ++c)
            sum[static_cast<std::size_t>(c)] +=
                p *
                static_cast<double>(values[static_cast<std::size_t>(((b * k.size(1) + h / group) * t + j) * d + c)]);
        }
        for (std::int64_t c = 0; c < d; ++c)
          result.set(((b * a + h) * s + i) * d + c, static_cast<float>(sum[static_cast<std::size_t>(c)]));
      }
}

void HostBackend::attention_backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout,
                                     const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias,
                                     const Tensor& out, const Tensor& lse, const AttentionArgs& args) {
  const ScoreRow rows(q, k, bias, args);
  const std::vector<float> values = packed(v), gradient = packed(dout), result = packed(out);
  const Look sums = look(lse);
  const std::int64_t a = q.size(1), s = q.size(2), t = k.size(2), d = q.size(3), dv_width = v.size(3),
                     group = a / k.size(1);
  std::vector<float> to_q(rows.q().size(), 0.0F), to_k(rows.k().size(), 0.0F), to_v(values.size(), 0.0F),
      x(static_cast<std::size_t>(t));
  const float factor = static_cast<float>(1 / (1 - args.dropout)), scale = static_cast<float>(args.scale);
  for (std::int64_t b = 0; b < q.size(0); ++b)
    for (std::int64_t h = 0; h < a; ++h)
      for (std::int64_t i = 0; i < s; ++i) {
        rows.scores(b, h, i, x);
        const std::int64_t row = (b * a + h) * s + i;
        const float log_sum = sums[(b * a + h) * lse.size(2) + i];
        float along = 0;
        for (std::int64_t c = 0; c < dv_width; ++c)
          along += gradient[static_cast<std::size_t>(row * dv_width + c)] *
                   result[static_cast<std::size_t>(row * dv_width + c)];
        for (std::int64_t j = 0; j < t; ++j) {
          const float p = std::exp(x[static_cast<std::size_t>(j)] - log_sum);
          const bool kept = rows.kept(b, h, i, j);
          const std::int64_t key = (b * k.size(1) + h / group) * t + j;
          float dp = 0;
          for (std::int64_t c = 0; kept && c < dv_width; ++c) {
            const float g = gradient[static_cast<std::size_t>(row * dv_width + c)];
            dp += g * values[static_cast<std::size_t>(key * dv_width + c)] * factor;
            to_v[static_cast<std::size_t>(key * dv_width + c)] += p * factor * g;
          }
          const float ds = p * (dp - along) * scale;
          for (std::int64_t c = 0; c < d; ++c) {
            to_q[static_cast<std::size_t>(row * d + c)] += ds * rows.k()[static_cast<std::size_t>(key * d + c)];
            to_k[static_cast<std::size_t>(key * d + c)] += ds * rows.q()[static_cast<std::size_t>(row * d + c)];
          }
        }
      }
  unpack(to_q, dq);
  unpack(to_k, dk);
  unpack(to_v, dv);
}

}  // namespace vramplan
