"""Three steps; the second holds most. What the program itself asks of its peaks must be as without the hook."""
import sys

import torch

MIB = 1 << 20
weights = torch.nn.Parameter(8 * MIB)
optimizer = torch.optim.optimizer.Optimizer([weights])


def step(size):
    activations = torch.cuda.Tensor(size)
    torch.autograd.backward(size // 2)
    optimizer.step()
    assert activations.item() == 0
    return activations


if len(sys.argv) > 1 and sys.argv[1] == "huge":
    step(1 << 40)
for size in (4 * MIB, 8 * MIB, 4 * MIB):
    step(size)
print("peak", torch.cuda.max_memory_allocated() // MIB)
torch.cuda.reset_peak_memory_stats()
print("after reset", torch.cuda.max_memory_allocated() // MIB)
sys.exit(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
