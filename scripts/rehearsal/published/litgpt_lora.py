"""LoRA fine-tuning as LitGPT's `finetune_lora` does it on one card (github.com/Lightning-AI/litgpt, litgpt/finetune/lora.py), with its
own model, loss and Fabric, bf16-true; every sample has the longest length. Prints the peak in GB (10^9), which is what LitGPT prints.

    python litgpt_lora.py MODEL MICRO_BATCH GLOBAL_BATCH LENGTH RANK PART,PART...
"""
import sys

import lightning
import torch
from litgpt.lora import GPT, Config, mark_only_lora_as_trainable
from litgpt.utils import chunked_cross_entropy, instantiate_torch_optimizer

name, micro_batch, global_batch, length, rank = sys.argv[1], *map(int, sys.argv[2:6])
config = Config.from_name(name, lora_r=rank, lora_alpha=16, lora_dropout=0.05, **{f"lora_{part}": True for part in sys.argv[6].split(",")})
fabric = lightning.Fabric(devices=1, precision="bf16-true")
with fabric.init_module(empty_init=False):
    model = GPT(config)
mark_only_lora_as_trainable(model)
model = fabric.setup_module(model)
optimizer = fabric.setup_optimizers(instantiate_torch_optimizer("AdamW", model.parameters()))
model.max_seq_length = length
ids = torch.ones(micro_batch, length, dtype=torch.long, device=fabric.device)
accumulated = global_batch // micro_batch
model.eval()
with torch.no_grad():  # "Verifying settings ..."
    chunked_cross_entropy(model(ids)[..., :-1, :], ids[..., 1:], chunk_size=0)
model.train()
for i in range(2 * accumulated):
    logits = model(ids, lm_head_chunk_size=128)
    logits[-1] = logits[-1][..., :-1, :]
    loss = chunked_cross_entropy(logits, ids[..., 1:])
    fabric.backward(loss / accumulated)
    if (i + 1) % accumulated == 0:
        optimizer.step()
        optimizer.zero_grad()
print(f"{torch.cuda.max_memory_allocated() / 1e9:.6g}")
