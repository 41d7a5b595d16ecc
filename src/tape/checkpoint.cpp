#include "tape/checkpoint.h"

#include "tape/view.h"

namespace vramplan {
namespace {

struct StopRecomputation {};

class Ticket;

/// One checkpointed call of the non-reentrant variant (_CheckpointFrame).
struct Frame : Counted {
  ~Frame() = default;
  Segment segment;
  Tensor x;
  Arguments given;
  std::uint64_t random_call = 0;
  std::optional<DType> autocast;
  std::vector<Ticket*> tickets;  ///< null where its node is gone
  std::size_t recomputed = 0;
  bool done = false;
  void recompute(Tape& t);
};

class Ticket final : public Packed {
 public:
  Ticket(Ref<Frame> frame, std::size_t index) : frame_(std::move(frame)), index_(index) {}
  ~Ticket() override { frame_->tickets[index_] = nullptr; }
  void fill(Tensor t) { tensor_ = std::move(t); }
  Tensor unpack(Tape& t) override {
    if (!frame_->done) frame_->recompute(t);
    return std::move(tensor_);
  }

 private:
  Ref<Frame> frame_;
  std::size_t index_;
  Tensor tensor_;
};

struct IssueTickets final : SaveHook {
  explicit IssueTickets(Ref<Frame> f) : frame(std::move(f)) {}
  Saved pack(Tape&, const Tensor&) override {
    Ref<Ticket> ticket = make_ref<Ticket>(frame, frame->tickets.size());
    frame->tickets.push_back(ticket.get());
    return Saved(Ref<Packed>(ticket));
  }
  Ref<Frame> frame;
};

struct FillTickets final : SaveHook {
  explicit FillTickets(Frame& f) : frame(f) {}
  Saved pack(Tape& t, const Tensor& x) override {
    if (x && x->storage->category == Category::temporary) t.memory().reclassify(x, Category::recomputed_activation);
    if (Ticket* ticket = frame.tickets[frame.recomputed]) ticket->fill(x ? t.detached(x) : x);
    if (++frame.recomputed == frame.tickets.size()) throw StopRecomputation{};
    return Saved(x);
  }
  Frame& frame;
};

/// The state a recomputation runs under: that of the original forward.
class Recomputing {
 public:
  Recomputing(Tape& t, std::uint64_t random_call, std::optional<DType> autocast)
      : tape_(t),
        grad_(t.grad_enabled, true),
        mode_(t.recomputing, true),
        draws_(t.random_calls, random_call),
        category_(t.memory().category, Category::temporary),
        phase_(t.memory(), Phase::recompute),
        place_(t, t.memory().place.module) {
    tape_.enter_autocast(autocast);
  }
  ~Recomputing() { tape_.leave_autocast(); }

 private:
  Tape& tape_;
  Restore<bool> grad_, mode_;
  Restore<std::uint64_t> draws_;
  Restore<Category> category_;
  InPhase phase_;
  At place_;
};

class Hooked {
 public:
  Hooked(Tape& t, SaveHook& h) : tape_(t) { tape_.push(h); }
  ~Hooked() { tape_.pop_hook(); }
  Hooked(const Hooked&) = delete;
  Hooked& operator=(const Hooked&) = delete;

 private:
  Tape& tape_;
};

void Frame::recompute(Tape& t) {
  FillTickets fill(*this);
  const Tensor input = x;
  try {
    Recomputing state(t, random_call, autocast);
    Hooked hooked(t, fill);
    segment(input, given);
  } catch (const StopRecomputation&) {
  }
  done = true;
}

/// The segment's input, and the states it looks at, are what the checkpoint keeps.
void mark_boundary(Tape& t, const Tensor& x) {
  if (x && x->storage->category != Category::input) t.memory().reclassify(x, Category::boundary);
}

Tensor non_reentrant(Tape& t, const Segment& segment, const Tensor& x, const Arguments& given) {
  if (!t.grad_enabled) return segment(x, given);
  Ref<Frame> frame = make_ref<Frame>();
  frame->segment = segment;
  frame->x = x;
  frame->given = given;
  frame->random_call = t.random_calls;
  frame->autocast = t.autocast();
  mark_boundary(t, x);
  mark_boundary(t, given.states);
  IssueTickets issue(std::move(frame));
  Hooked hooked(t, issue);
  return segment(x, given);
}

/// A copy of a tensor of the host on the device.
Tensor fetched(Tape& t, const Tensor& x) {
  Restore category(t.memory().category, Category::boundary);
  Tensor y = t.memory().empty_like(x, x.dtype(), "_to_copy");
  t.backend().unary(Unary::copy, y, x, 0);
  y->requires_grad = true;
  return y;
}

Tensor sent_to_host(Tape& t, const Tensor& x) {
  Tensor y = t.host_memory().empty_like(x, x.dtype(), "_to_copy");
  t.backend().unary(Unary::copy, y, x, 0);
  return y;
}

/// A leaf that stands for `x` in the graph that is made anew.
Tensor leaf_of(Tape& t, const Tensor& x) {
  Tensor leaf = x ? t.detached(x) : Tensor();
  if (leaf) leaf->requires_grad = x.requires_grad();
  return leaf;
}

/// CheckpointFunction.backward. Python has seen what arrives here.
Grads reentrant_backward(Tape& t, Node& n, Grads& dy) {
  const Tensor mask = n.get(t, 1), kept_states = n.get(t, 2);
  const Tensor x = n.rare->attribute ? fetched(t, Tensor(n.rare->attribute)) : n.get(t, 0);
  const Tensor gradient = dy[0];
  gradient->pinned = true;
  const Tensor detached = leaf_of(t, x), states = leaf_of(t, kept_states);
  const bool on_host = static_cast<bool>(n.rare->attribute);
  if (on_host) t.enter_autocast(n.rare->autocast);  // custom_bwd: all of it runs in the region of the forward
  Tensor out;
  {
    Recomputing state(t, n.rare->random_call, n.rare->autocast);
    out = n.rare->segment(detached, {mask, states, {}, {}});
  }
  t.backward(out, gradient);
  if (on_host) t.leave_autocast();
  // The engine is then their only owner: a leaf takes its gradient without a copy.
  if (!states) return {Tensor(detached->grad)};
  return {Tensor(detached->grad), Tensor(states->grad)};
}

/// A function that keeps what it is given as an attribute, and so as long as the graph.
Segment bound(const Segment& segment, const Arguments& given) {
  return [segment, given](const Tensor& x, const Arguments&) { return segment(x, given); };
}

Tensor reentrant(Tape& t, const Segment& segment, const Tensor& x, const Arguments& given, bool on_host) {
  constexpr const char* kName = "CheckpointFunctionBackward";
  auto node = given.states ? t.record(kName, reentrant_backward, {&x, &given.states})
                           : t.record(kName, reentrant_backward, {&x});
  if (node) {
    node->more().segment = on_host ? bound(segment, given) : segment;
    node->more().random_call = t.random_calls;
    node->more().autocast = t.autocast();
    if (on_host) node->more().attribute = sent_to_host(t, x).ref();
    t.save(node, on_host ? Tensor() : x);
    for (const Tensor* argument : {&given.mask, &given.states})
      node->keep_for_backward(Saved(on_host ? Tensor() : *argument));
    if (!on_host) mark_boundary(t, x), mark_boundary(t, given.states);
  }
  Tensor y;
  {
    Restore no_grad(t.grad_enabled, false);
    y = segment(x, given);
  }
  return t.output(node, y);
}

}  // namespace

Tensor checkpoint(Tape& t, Recompute variant, const Segment& segment, const Tensor& x, const Arguments& given) {
  return variant == Recompute::non_reentrant ? non_reentrant(t, segment, x, given)
                                             : reentrant(t, segment, x, given, variant == Recompute::offloaded);
}

}  // namespace vramplan
