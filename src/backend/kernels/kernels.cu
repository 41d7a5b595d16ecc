// Every kernel of the cuda backend, one text: compiled for all cards where the toolkit is, else on the card's machine.
#include "backend/kernels/attention.cuh"
#include "backend/kernels/elementwise.cuh"
#include "backend/kernels/norms.cuh"
#include "backend/kernels/optimizers.cuh"
#include "backend/kernels/products.cuh"
#include "backend/kernels/quantised.cuh"
#include "backend/kernels/reductions.cuh"
#include "backend/kernels/rows.cuh"
