// The smallest card, or the cheapest of those with a price.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/parallel.h"
#include "plan/candidate.h"

namespace vramplan {
namespace {

double price_of(const std::vector<Price>& prices, const Card& card) {
  for (const Price& p : prices)
    if (p.card == card.id) return p.usd_an_hour;
  return -1;
}

}  // namespace

Plan smallest_card(const Job& job, const std::vector<Card>& cards, const std::vector<Price>& prices,
                   const PlanOptions& options) {
  std::vector<Card> usable = cuda_cards(cards);
  if (!prices.empty()) {
    std::erase_if(usable, [&](const Card& c) { return price_of(prices, c) < 0; });
    std::stable_sort(usable.begin(), usable.end(),
                     [&](const Card& a, const Card& b) { return price_of(prices, a) < price_of(prices, b); });
  }
  Plan plan;
  plan.question =
      prices.empty() ? "the card with the least memory on which it fits" : "the cheapest card on which it fits";
  std::vector<std::optional<Estimate>> found(usable.size());
  parallel_for(usable.size(), [&](std::size_t i) {
    Job on = job;
    set_card(on, usable[i]);
    found[i] = assess_if_runnable(on);
  });
  for (std::size_t i = 0; i < usable.size(); ++i)
    if (found[i]) plan.candidates.push_back(candidate_of(*found[i], usable[i].id));
  for (std::size_t i = 0; i < plan.candidates.size() && !plan.answer; ++i)
    if (good_enough(plan.candidates[i], options)) plan.answer = i;
  plan.notes.push_back("CUDA cards from compute capability 7.0 on");
  return plan;
}

}  // namespace vramplan
