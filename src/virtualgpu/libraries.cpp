// The few calls of cuBLAS, cuDNN and CUPTI that must answer something: versions, which PyTorch checks against those it
// was built with; one algorithm and one engine, without a workspace of its own.
#include "virtualgpu/abi.h"
#include "virtualgpu/settings.h"
#include "virtualgpu/stubs.h"

using namespace virtualgpu;

VGPU_EXPORT const char* cublasGetStatusString(int) { return "virtual"; }
VGPU_EXPORT int cublasGetMathMode(void*, int* mode) {
  *mode = 0;
  return 0;
}
VGPU_EXPORT int cublasGetPointerMode_v2(void*, int* mode) {
  *mode = 0;
  return 0;
}
VGPU_EXPORT int cublasGetVersion_v2(void*, int* v) {
  *v = settings().cublas;
  return 0;
}
VGPU_EXPORT size_t cublasGetCudartVersion() { return static_cast<size_t>(settings().cuda); }
VGPU_EXPORT size_t cublasLtGetVersion() { return static_cast<size_t>(settings().cublas); }
VGPU_EXPORT size_t cublasLtGetCudartVersion() { return static_cast<size_t>(settings().cuda); }
/// cublasLtMatmulHeuristicResult_t has 88 bytes; zeros are an algorithm without a workspace.
VGPU_EXPORT int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int, void* results,
                                               int* found) {
  std::memset(results, 0, 88);
  *found = 1;
  return 0;
}

VGPU_EXPORT size_t cudnnGetVersion() { return static_cast<size_t>(settings().cudnn); }
VGPU_EXPORT size_t cudnnGetCudartVersion() { return static_cast<size_t>(settings().cuda); }
/// libraryPropertyType: 0 major, 1 minor, 2 patch. 90100 is 9.1.0.
VGPU_EXPORT int cudnnGetProperty(int which, int* v) {
  const int version = settings().cudnn;
  *v = which == 0 ? version / 10000 : which == 1 ? version / 100 % 100 : version % 100;
  return 0;
}
/// The default stream: everything has already happened on any.
VGPU_EXPORT int cudnnGetStream(Handle, Handle* stream) {
  *stream = nullptr;
  return 0;
}
VGPU_EXPORT const char* cudnnGetErrorString(int) { return "virtual"; }
VGPU_EXPORT void cudnnGetLastErrorString(char* s, size_t n) {
  if (n) *s = 0;
}
VGPU_EXPORT int cudnnBackendCreateDescriptor(int, void** d) {
  *d = new_handle();
  return 0;
}
namespace {

constinit Stub plan_workspace{"cudnnBackendGetAttribute", Stub::Kind::workspace, {0}, nullptr};
constexpr int kPlanWorkspace = 402;  // CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE of cudnn_graph.h

}  // namespace

/// Sizes by cudnnBackendAttributeType_t; the 15th kind is a descriptor, which the caller has made.
VGPU_EXPORT int cudnnBackendGetAttribute(void*, int which, int type, int64_t, int64_t* n, void* out) {
  if (which == kPlanWorkspace) plan_workspace.reached();
  static constexpr size_t kSize[] = {8, 4, 1, 8, 4, 8, 8};
  if (n) *n = 1;
  if (out && type != 15) std::memset(out, 0, type >= 0 && type < 7 ? kSize[type] : 4);
  return 0;
}

VGPU_EXPORT int cuptiGetResultString(int, const char** s) {
  *s = "virtual";
  return 0;
}
