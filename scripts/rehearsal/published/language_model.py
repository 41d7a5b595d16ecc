"""The 2.7B language model of a CS336 solution (github.com/damek/cs336-assignment2-systems, outputs/memory_viz_report.md), written
from its sizes: 32 layers of 2560, 32 heads, SwiGLU of 10240, RoPE, RMSNorm, 10,000 words, batch 4; attention and AdamW by hand.
Prints the parameters and the peak of active memory in GiB.

    python language_model.py CONTEXT forward|step fp32|bf16
"""
import contextlib
import math
import sys

import torch
from torch import nn

LAYERS, WIDTH, HEADS, INNER, WORDS, BATCH = 32, 2560, 32, 10240, 10000, 4


class RMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH, device="cuda"))

    def forward(self, x):
        kind, x = x.dtype, x.to(torch.float32)
        return (x / torch.sqrt(x.square().mean(-1, keepdim=True) + 1e-5) * self.weight).to(kind)


class Linear(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs, device="cuda"))

    def forward(self, x):
        return torch.einsum("...i,oi->...o", x, self.weight)


def softmax(x):
    shifted = x - torch.max(x, dim=-1, keepdim=True)[0]
    exponentials = torch.exp(shifted)
    return exponentials / torch.sum(exponentials, dim=-1, keepdim=True)


class Attention(nn.Module):
    def __init__(self, cosines, sines):
        super().__init__()
        self.q, self.k, self.v, self.out = (Linear(WIDTH, WIDTH) for _ in range(4))
        self.cosines, self.sines = cosines, sines

    def turned(self, x):
        even, odd = x[..., ::2], x[..., 1::2]
        turned = (even * self.cosines - odd * self.sines, even * self.sines + odd * self.cosines)
        return torch.stack(turned, dim=-1).flatten(-2)

    def forward(self, x):
        b, s, _ = x.shape
        q, k, v = (linear(x).view(b, s, HEADS, -1).transpose(1, 2) for linear in (self.q, self.k, self.v))
        q, k = self.turned(q), self.turned(k)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(q.shape[-1])
        seen = torch.ones(s, s, dtype=torch.bool, device="cuda").tril()
        weights = softmax(torch.where(seen, scores, float("-inf")))
        return self.out(torch.einsum("bhqk,bhkd->bhqd", weights, v).transpose(1, 2).reshape(b, s, WIDTH))


class Block(nn.Module):
    def __init__(self, cosines, sines):
        super().__init__()
        self.before, self.after, self.attention = RMSNorm(), RMSNorm(), Attention(cosines, sines)
        self.up, self.down, self.gate = Linear(WIDTH, INNER), Linear(INNER, WIDTH), Linear(WIDTH, INNER)

    def forward(self, x):
        x = x + self.attention(self.before(x))
        y = self.after(x)
        gate = self.up(y)
        return x + self.down(gate * torch.sigmoid(gate) * self.gate(y))


class Model(nn.Module):
    def __init__(self, context):
        super().__init__()
        angles = torch.outer(torch.arange(context, device="cuda"), 10000 ** (-torch.arange(0, WIDTH // HEADS, 2, device="cuda") / (WIDTH // HEADS)))
        self.words = nn.Parameter(torch.empty(WORDS, WIDTH, device="cuda"))
        self.blocks = nn.ModuleList(Block(angles.cos(), angles.sin()) for _ in range(LAYERS))
        self.norm, self.head = RMSNorm(), Linear(WIDTH, WORDS)

    def forward(self, ids):
        x = self.words[ids]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class AdamW(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {})

    @torch.no_grad()
    def step(self, closure=None):
        for p in self.param_groups[0]["params"]:
            state = self.state[p]
            m, v = state.get("m", torch.zeros_like(p)), state.get("v", torch.zeros_like(p))
            m = 0.9 * m + 0.1 * p.grad
            v = 0.999 * v + 0.001 * p.grad ** 2
            p.data -= 1e-3 * m / (torch.sqrt(v) + 1e-8)
            p.data -= 1e-5 * p.data
            state["m"], state["v"] = m, v


context, what, precision = int(sys.argv[1]), sys.argv[2], sys.argv[3]
model = Model(context)
optimizer = AdamW(model.parameters())
ids = torch.zeros(BATCH, context, dtype=torch.int64, device="cuda")
autocast = torch.autocast("cuda", dtype=torch.bfloat16) if precision == "bf16" else contextlib.nullcontext()
for _ in range(2):
    optimizer.zero_grad()
    with autocast, torch.set_grad_enabled(what == "step"):
        logits = model(ids)
        if what == "step":
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids.flatten())
    if what == "step":
        loss.backward()
        optimizer.step()
print(sum(p.numel() for p in model.parameters()), f"{torch.cuda.memory_stats()['active_bytes.all.peak'] / 2 ** 30:.4g}")
