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
constexpr Words kWords[] = {
    {kSuccess, "cudaSuccess", "no error"},
    {kInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {kOutOfMemory, "cudaErrorMemoryAllocation", "out of memory"},
    {kNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {kInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {kNoKernelImage, "cudaErrorNoKernelImageForDevice", "no kernel image is available for execution on the device"},
    {kNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
    {kNotSupported, "cudaErrorNotSupported", "operation not supported"}};
constexpr Words kUnknown{0, "unrecognized error code", "unrecognized error code"};

const Words& words_of(int result) {
  for (const Words& w : kWords)
    if (w.result == result) return w;
  return kUnknown;
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
