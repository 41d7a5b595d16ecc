"""Which kernel scaled_dot_product_attention takes on this card, over a grid: a letter for each, in the order of the loops.

Makes tests/data/sdpa_choice.json, card by card: vramplan rehearse --gpu t4 -- python scripts/rehearsal/sdpa_choice.py
"""
import itertools
import json

import torch

GRID = {
    "types": ["fp32", "fp16", "bf16"],
    "head_sizes": [7, 12, 16, 32, 60, 62, 64, 80, 96, 100, 128, 136, 160, 192, 200, 224, 232, 256, 264, 512],
    "masks": [False, True],
    "dropouts": [0.0, 0.1, 0.5],
    "key_heads": [[4, False], [2, True], [2, False], [1, False]],  # of 4 heads, and enable_gqa
    "gradients": [True, False],
}
TYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
LETTERS = {0: "m", 1: "f", 2: "e", 3: "c"}  # math, flash, efficient, cuDNN: torch/csrc SDPBackend


def choice(dtype, size, mask, dropout, keys, gradient):
    def tensor(heads):
        return torch.empty(2, heads, 64, size, device="cuda", dtype=TYPES[dtype], requires_grad=gradient)

    bias = torch.empty(2, 1, 64, 64, device="cuda", dtype=TYPES[dtype]) if mask else None
    taken = torch._fused_sdp_choice(tensor(4), tensor(keys[0]), tensor(keys[0]), attn_mask=bias, dropout_p=dropout, is_causal=not mask,
                                    enable_gqa=keys[1])
    return LETTERS[taken]


def main():
    major, minor = torch.cuda.get_device_capability()
    print(json.dumps({"capability": 10 * major + minor, "letters": "".join(choice(*point) for point in itertools.product(*GRID.values()))}))


if __name__ == "__main__":
    main()
