// Machine code as NVIDIA's compiler packs it: a fat binary holds the same kernels for several architectures, and the
// driver takes the one that suits the card. Libraries inside PyTorch (CUB) choose by that one how much scratch memory
// they ask for.
#pragma once
#include <optional>

namespace virtualgpu {

/// Architectures as two digits: 86 is compute capability 8.6.
struct Code {
  int compiled_for;  ///< what __CUDA_ARCH__ said (cudaFuncAttributes::ptxVersion)
  int runs_on;       ///< of the machine code: the card's own where PTX is compiled on it (binaryVersion)
};

/// What the driver takes for a card of that architecture from the fat binary behind `wrapper`, as
/// __cudaRegisterFatBinary gets it. Nothing when none of its code runs there ("no kernel image is available"). Where
/// the wrapper is of another form, code is taken to be compiled for the card.
std::optional<Code> code_for(const void* wrapper, int card);

}  // namespace virtualgpu
