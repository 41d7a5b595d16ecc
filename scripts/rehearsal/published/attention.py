"""The attention benchmark of a CS336 solution (github.com/damek/cs336-assignment2-systems, outputs/attention_benchmark.md), written
from what its table says: batch 8, no heads, fp32, softmax by hand, warmed up once. Prints MiB for a width and a length.

    python attention.py WIDTH LENGTH eager|compile
"""
import math
import sys

import torch

MIB = 2 ** 20


def softmax(x):
    shifted = x - torch.max(x, dim=-1, keepdim=True)[0]
    exponentials = torch.exp(shifted)
    return exponentials / torch.sum(exponentials, dim=-1, keepdim=True)


def attention(q, k, v):
    scores = torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(q.shape[-1])
    return torch.einsum("bqk,bkd->bqd", softmax(scores), v)


width, length = map(int, sys.argv[1:3])
if sys.argv[3] == "compile":
    attention = torch.compile(attention)
q, k, v = (torch.randn(8, length, width, device="cuda", requires_grad=True) for _ in range(3))


def forget_gradients():
    q.grad = k.grad = v.grad = None


out = attention(q, k, v)
loss = out.sum()
loss.backward()
forget_gradients()
torch.cuda.reset_peak_memory_stats()
inputs = torch.cuda.memory_allocated()
out = attention(q, k, v)
forward = torch.cuda.max_memory_allocated()
before = torch.cuda.memory_allocated()
torch.cuda.reset_peak_memory_stats()
again = attention(q, k, v)  # the graph of the first is alive still, as the published backward peaks show
again_loss = again.sum()
again_loss.backward()
peak = torch.cuda.max_memory_allocated()
print(*(f"{n / MIB:.6g}" for n in (inputs, forward, before - inputs, before, peak)))
