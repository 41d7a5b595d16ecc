"""A mixture of experts in transformers' own loop over experts: which tokens an expert gets is read back from the card."""
import os

import torch
from transformers import MixtralConfig, MixtralForCausalLM

TOKENS, EXPERTS, CHOICES, LAYERS = 60, 8, 2, 2
EXPECTED = [TOKENS] * CHOICES if os.environ["VRAMPLAN_ROUTING"] == "skewed" else [TOKENS * CHOICES // EXPERTS] * EXPERTS
config = MixtralConfig(vocab_size=500, hidden_size=64, intermediate_size=128, num_hidden_layers=LAYERS, num_attention_heads=4,
                       num_key_value_heads=2, num_local_experts=EXPERTS, num_experts_per_tok=CHOICES, experts_implementation="eager")
with torch.device("cuda"):
    model = MixtralForCausalLM(config)
model.set_experts_implementation("eager")
seen = []
for layer in model.model.layers:
    layer.mlp.experts.act_fn.register_forward_hook(lambda module, inputs, output: seen.append(len(output)))
optimizer = torch.optim.AdamW(model.parameters())
ids = torch.randint(0, 500, (1, TOKENS), device="cuda")
for _ in range(3):
    seen.clear()
    model(input_ids=ids, labels=ids).loss.backward()
    assert seen == EXPECTED * LAYERS, seen
    optimizer.step()
    optimizer.zero_grad()
