"""Two training steps of a golden case, as a plain PyTorch program: golden_step.py FILE.jsonl ID [COUNTERS.json].

Run by check-rehearsal and check-oracle. The last file gets what the caching allocator counted, as golden files have it.
"""
import json
import sys

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM, masking_utils

# The golden counters were taken without the temporaries of this test.
masking_utils.find_packed_sequence_indices = lambda position_ids: None

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16, "amp-bf16": torch.float32, "amp-fp16": torch.float32}
AUTOCAST = {"amp-bf16": torch.bfloat16, "amp-fp16": torch.float16}
FORMS = {"foreach": {"foreach": True}, "for-loop": {"foreach": False}, "fused": {"fused": True}, None: {}}


def find(path, wanted):
    with open(path) as file:
        for line in file:
            case = json.loads(line)
            if case["id"] == wanted:
                return case["inputs"]
    raise SystemExit(f"golden_step: no case {wanted} in {path}")


def build(case):
    config = AutoConfig.for_model(**case["model"]["config"])
    with torch.device("cuda"):
        model = AutoModelForCausalLM.from_config(config, dtype=DTYPES[case["precision"]],
                                                 attn_implementation=case["attention"]["asked"])
    model.train()
    if case.get("lora"):
        from peft import LoraConfig, get_peft_model
        lora = case["lora"]
        model = get_peft_model(model, LoraConfig(r=lora["r"], lora_alpha=2 * lora["r"], lora_dropout=lora["dropout"],
                                                 target_modules=lora["targets"], task_type="CAUSAL_LM"),
                               autocast_adapter_dtype=lora["adapter_dtype"] == "fp32")
    if case["checkpoint"]["kind"] == "layer":
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": case["checkpoint"]["reentrant"]})
        if case.get("lora"):
            model.enable_input_require_grads()
    return model


def make_optimizer(spec, parameters):
    how = FORMS[spec.get("impl")]
    if spec["name"] == "adamw":
        return torch.optim.AdamW(parameters, lr=1e-4, weight_decay=0.01, **how)
    if spec["name"] == "adam":
        return torch.optim.Adam(parameters, lr=1e-4, weight_decay=spec.get("weight_decay", 0.0), **how)
    if spec["name"] == "sgd":
        return torch.optim.SGD(parameters, lr=1e-4, momentum=spec.get("momentum", 0.0),
                               weight_decay=spec.get("weight_decay", 0.0), **how)
    return torch.optim.Adafactor(parameters, lr=1e-4, **how)


class Counters:
    """[requested, allocated, reserved] bytes: now, and the peaks of phases and steps."""

    def __init__(self):
        self.found = {"columns": ["requested", "allocated", "reserved"]}

    @staticmethod
    def read(which):
        stats = torch.cuda.memory_stats()
        return [stats[f"{name}_bytes.all.{which}"] for name in ("requested", "allocated", "reserved")]

    def now(self, name):
        self.found[name] = self.read("current")

    def phase(self, step, name):
        peak = self.read("peak")
        phases = self.found.setdefault(f"step{step}", {})
        so_far = phases.get(name, [0, 0, 0])
        phases[name] = [max(pair) for pair in zip(so_far, peak)]
        phases["peak"] = [max(pair) for pair in zip(phases.get("peak", [0, 0, 0]), peak)]
        torch.cuda.reset_peak_memory_stats()


def main():
    case = find(*sys.argv[1:3])
    transformers.logging.set_verbosity_error()
    torch.empty(1, device="cuda")
    model = build(case)
    batch = {name: torch.zeros((case["b"], case["s"]), dtype=torch.int64, device="cuda") for name in ("input_ids", "labels")}
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = make_optimizer(case["optimizer"], parameters)
    amp = AUTOCAST.get(case["precision"])
    counters = Counters()
    counters.now("ready")
    torch.cuda.reset_peak_memory_stats()
    for step in (1, 2):
        for _ in range(case.get("grad_accum", 1)):
            with torch.autocast("cuda", dtype=amp, enabled=amp is not None):
                if case["caller"] == "keeps_output":
                    out = model(**batch, use_cache=False)
                    loss = out.loss
                else:
                    loss = model(**batch, use_cache=False).loss
            if "after_forward" not in counters.found:
                counters.now("after_forward")
            counters.phase(step, "forward")
            loss.backward()
            counters.phase(step, "backward")
        if case.get("clip"):
            torch.nn.utils.clip_grad_norm_(parameters, case["clip"])
        optimizer.step()
        counters.phase(step, "optimizer")
        optimizer.zero_grad()
    if len(sys.argv) > 3:
        counters.found["params"] = sum(p.numel() for p in model.parameters())
        with open(sys.argv[3], "w") as file:
            json.dump(counters.found, file)


main()
