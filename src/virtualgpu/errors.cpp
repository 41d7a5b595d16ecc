#include "virtualgpu/errors.h"

#include "virtualgpu/abi.h"

namespace virtualgpu {
namespace {

int& kept() {
  thread_local int error = kSuccess;
  return error;
}

struct Words {
  int result;
  const char *name, *text;
};
constexpr Words kWords[] = {{kSuccess, "cudaSuccess", "no error"},
                            {kInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
                            {kOutOfMemory, "cudaErrorMemoryAllocation", "out of memory"},
                            {kNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
                            {kInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"}};

const Words& words_of(int result) {
  for (const Words& w : kWords)
    if (w.result == result) return w;
  return kWords[1];
}

}  // namespace

int checked(int result) {
  if (result != kSuccess) kept() = result;
  return result;
}
int last_error() { return kept(); }
int take_last_error() {
  const int e = kept();
  kept() = kSuccess;
  return e;
}

const char* describe(int result) { return words_of(result).text; }
const char* name_of(int result) { return words_of(result).name; }

}  // namespace virtualgpu
