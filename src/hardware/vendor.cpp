#include "hardware/vendor.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace vramplan {
namespace {

constexpr VendorWords kNvidia{
    "NVIDIA", "CUDA", "cuBLAS", "nvidia-smi", "torch.cuda.max_memory_allocated", "torch.cuda.max_memory_reserved"};
/// Of a maker that is not listed.
constexpr VendorWords kOther{"",
                             "runtime",
                             "matrix product",
                             "the maker's monitor",
                             "PyTorch's allocator, tensors",
                             "PyTorch's allocator, with what it keeps"};
// PyTorch's documentation of torch.mps, torch.xpu; ROCm's of rocm-smi; Ascend's torch_npu; Cambricon's torch_mlu; Moore
// Threads' torch_musa; torch_xla's xm.get_memory_info; the Neuron tools' neuron-top.
constexpr VendorWords kVendors[]{
    kNvidia,
    {"AMD", "HIP", "hipBLAS", "rocm-smi", "PyTorch's allocator, tensors", "PyTorch's allocator, with what it keeps"},
    {"Apple", "Metal", "MPS", "Activity Monitor", "torch.mps.current_allocated_memory, at its highest",
     "torch.mps.driver_allocated_memory, at its highest"},
    {"Intel", "Level Zero", "oneMKL", "xpu-smi", "torch.xpu.max_memory_allocated",
     "PyTorch's allocator, with what it keeps"},
    {"Huawei", "CANN", "CANN's matrix product", "npu-smi", "torch.npu.max_memory_allocated",
     "PyTorch's allocator, with what it keeps"},
    {"Cambricon", "CNRT", "CNNL", "cnmon", "torch.mlu.max_memory_allocated", "PyTorch's allocator, with what it keeps"},
    {"Moore Threads", "MUSA", "muBLAS", "mthreads-gmi", "torch.musa.max_memory_allocated",
     "PyTorch's allocator, with what it keeps"},
    {"Google", "XLA", "XLA's matrix product", "tpu-info", "XLA's allocator, tensors", "XLA's allocator"},
    {"AWS", "Neuron", "Neuron's matrix product", "neuron-top", "the Neuron runtime, tensors", "the Neuron runtime"}};

}  // namespace

const VendorWords& vendor_words(std::string_view vendor) {
  if (vendor.empty()) return kNvidia;
  const auto* const found =
      std::find_if(std::begin(kVendors), std::end(kVendors), [&](const VendorWords& w) { return w.vendor == vendor; });
  return found == std::end(kVendors) ? kOther : *found;
}

std::string row_name(const std::string& name, const VendorWords& words) {
  if (words.vendor == kNvidia.vendor) return name;
  if (name == "[cuda context]") return fmt::format("[{} context]", words.runtime);
  if (name == "[cublas workspace]") return fmt::format("[{} workspace]", words.products);
  return name;
}

bool has_cuda(const Card& card) { return vendor_words(card.vendor).vendor == kNvidia.vendor; }

}  // namespace vramplan
