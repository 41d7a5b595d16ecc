// The kernels of the cuda backend, compiled for the CPU, and the turns that the threads of a block take.
#include "emulated_kernels.h"

#include <ucontext.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "emulated_cuda.h"
//
#include "backend/kernels/kernels.cu"

namespace emulated {

Index thread, block, blocks;

namespace {

constexpr std::size_t kThreads = 256, kStack = 64 << 10;

using Kernel = void (*)(void**);
Kernel running = nullptr;
void** arguments = nullptr;

struct Barrier {
  unsigned arrived = 0, round = 0;
};
/// Two turns of them: a warp that has met knows that nobody reads the turn before.
std::array<std::array<Numbers, kThreads>, 2> numbers;
std::array<unsigned, kThreads> turn;
Barrier of_block;
std::array<Barrier, kThreads / 32> of_warp;
bool any = false;

#if defined(__x86_64__)
/// Keeps this stack's pointer in *from and goes on where the other stack stopped: what a function must keep of the
/// registers lies on its stack (System V ABI).
extern "C" void emulated_change_stack(void** from, void* to);
asm(R"(
emulated_change_stack:
    push %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret
)");
using Stack = void*;
void change(Stack& from, Stack& to) { emulated_change_stack(&from, to); }
Stack prepared(std::byte* memory, void (*entry)()) {
  auto* top = reinterpret_cast<void**>(memory + kStack - 64);
  *--top = nullptr;  // where entry would return to: it never does
  *--top = reinterpret_cast<void*>(entry);
  return top - 6;
}
#else
using Stack = ucontext_t;
void change(Stack& from, Stack& to) { swapcontext(&from, &to); }
Stack prepared(std::byte* memory, void (*entry)()) {
  Stack s;
  getcontext(&s);
  s.uc_stack.ss_sp = memory;
  s.uc_stack.ss_size = kStack;
  s.uc_link = nullptr;
  makecontext(&s, entry, 0);
  return s;
}
#endif

Stack scheduler;
std::array<Stack, kThreads> stacks;
std::array<bool, kThreads> done;
struct Waiting {
  const Barrier* at = nullptr;
  unsigned round = 0;
  bool over() const { return !at || at->round != round; }
};
std::array<Waiting, kThreads> waiting;
std::vector<std::byte> memory(kThreads* kStack);

void yield() { change(stacks[thread.x], scheduler); }

void thread_of_block() {
  running(arguments);
  done[thread.x] = true;
  yield();
}

void wait(Barrier& b, unsigned threads) {
  waiting[thread.x] = {&b, b.round};
  if (++b.arrived == threads) {
    b.arrived = 0;
    ++b.round;
  } else {
    yield();
  }
}

void sync_warp() { wait(of_warp[thread.x / 32], 32); }

void run_block() {
  done.fill(false);
  waiting.fill({});
  turn.fill(0);
  for (std::size_t t = 0; t < kThreads; ++t) stacks[t] = prepared(memory.data() + t * kStack, thread_of_block);
  for (bool more = true; more;) {
    more = false;
    for (unsigned t = 0; t < kThreads; ++t) {
      if (done[t]) continue;
      more = true;
      if (!waiting[t].over()) continue;
      thread.x = t;
      change(scheduler, stacks[t]);
    }
  }
}

template <auto Function, class... A, std::size_t... I>
void call(void (*)(A...), void** p, std::index_sequence<I...>) {
  Function(*static_cast<std::remove_reference_t<A>*>(p[I])...);
}
template <auto Function>
void unpack(void** p) {
  []<class... A>(void (*f)(A...), void** q) { call<Function>(f, q, std::index_sequence_for<A...>()); }(Function, p);
}

#define KERNEL(name) \
  { #name, unpack<&vramplan::kernels::name> }
const std::map<std::string, Kernel> kKernels{KERNEL(fill),
                                             KERNEL(arange),
                                             KERNEL(tokens),
                                             KERNEL(tril),
                                             KERNEL(unary),
                                             KERNEL(binary),
                                             KERNEL(accumulate),
                                             KERNEL(dropout),
                                             KERNEL(embedding),
                                             KERNEL(gather),
                                             KERNEL(scatter),
                                             KERNEL(nll_backward),
                                             KERNEL(clip_coefficient),
                                             KERNEL(sum_long),
                                             KERNEL(sum_wide),
                                             KERNEL(squares),
                                             KERNEL(root_of_squares),
                                             KERNEL(checksum),
                                             KERNEL(softmax),
                                             KERNEL(softmax_backward),
                                             KERNEL(nll),
                                             KERNEL(cross_entropy_gradient),
                                             KERNEL(embedding_backward),
                                             KERNEL(layer_norm),
                                             KERNEL(layer_norm_backward),
                                             KERNEL(rms_norm),
                                             KERNEL(rms_norm_backward),
                                             KERNEL(norm_weight_backward),
                                             KERNEL(product_small),
                                             KERNEL(product_large),
                                             KERNEL(product_bf16),
                                             KERNEL(product_fp16),
                                             KERNEL(attention_64),
                                             KERNEL(attention_128),
                                             KERNEL(attention_256),
                                             KERNEL(attention_query_64),
                                             KERNEL(attention_query_128),
                                             KERNEL(attention_query_256),
                                             KERNEL(attention_key_64),
                                             KERNEL(attention_key_128),
                                             KERNEL(attention_key_256),
                                             KERNEL(adam),
                                             KERNEL(lion),
                                             KERNEL(adam_blockwise),
                                             KERNEL(lion_blockwise),
                                             KERNEL(adafactor_rows),
                                             KERNEL(adafactor_columns),
                                             KERNEL(adafactor_elements),
                                             KERNEL(adafactor_keep),
                                             KERNEL(plain_sum),
                                             KERNEL(adafactor_update_squares),
                                             KERNEL(adafactor_apply),
                                             KERNEL(dequantise),
                                             KERNEL(product_8bit)};
#undef KERNEL

}  // namespace

void sync_block() { wait(of_block, kThreads); }
bool any_of_block(bool mine) {
  any = false;
  sync_block();
  if (mine) any = true;
  sync_block();
  const bool result = any;
  sync_block();
  return result;
}
void exchange(const Numbers& mine) {
  turn[thread.x] ^= 1U;
  numbers[turn[thread.x]][thread.x] = mine;
  sync_warp();
}
const Numbers& brought_by(int lane) {
  return numbers[turn[thread.x]][thread.x / 32 * 32 + static_cast<unsigned>(lane)];
}

const void* find_kernel(const char* name) {
  const auto found = kKernels.find(name);
  return found == kKernels.end() ? nullptr : &found->second;
}

bool launch(const void* kernel, unsigned x, unsigned y, unsigned z, unsigned threads, void** parameters) {
  if (threads != kThreads) return false;
  running = *static_cast<const Kernel*>(kernel);
  arguments = parameters;
  blocks = {x, y, z};
  for (block.z = 0; block.z < z; ++block.z)
    for (block.y = 0; block.y < y; ++block.y)
      for (block.x = 0; block.x < x; ++block.x) run_block();
  return true;
}

}  // namespace emulated
