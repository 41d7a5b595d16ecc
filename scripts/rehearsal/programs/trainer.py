"""A complete train() of Hugging Face's Trainer, with checkpointing."""
import tempfile

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments


class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        ids = torch.full((256,), i + 3)
        return {"input_ids": ids, "labels": ids, "attention_mask": torch.ones_like(ids)}


config = LlamaConfig(hidden_size=256, intermediate_size=768, num_hidden_layers=4, num_attention_heads=4, vocab_size=4096)
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(folder, per_device_train_batch_size=2, gradient_accumulation_steps=2, max_steps=3, bf16=True,
                                  gradient_checkpointing=True, report_to=[], save_strategy="no", logging_steps=1)
    Trainer(LlamaForCausalLM(config), arguments, train_dataset=Tokens()).train()
