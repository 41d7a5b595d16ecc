"""Three steps of a program as most are: PyTorch comes last and is looked up by others before, and its data by workers that are spawned."""
import transformers  # noqa: I001
import peft
import accelerate
import torch

__all__ = ["transformers", "peft"]


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        return torch.full((64,), float(i)), i % 8


if __name__ == "__main__":
    accelerator = accelerate.Accelerator()
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Linear(64, 8))
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=4, num_workers=1, multiprocessing_context="spawn")
    model, optimizer, loader = accelerator.prepare(model, torch.optim.AdamW(model.parameters()), loader)
    for x, y in loader:
        accelerator.backward(torch.nn.functional.cross_entropy(model(x), y))
        optimizer.step()
        optimizer.zero_grad()
