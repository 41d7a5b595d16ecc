"""torch.compile with Inductor: Triton kernels are built for the card and loaded, not run."""
import torch

model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 512)).cuda()
step = torch.compile(lambda x: model(x).square().mean())
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
for _ in range(3):
    step(torch.randn(32, 512, device="cuda")).backward()
    optimizer.step()
    optimizer.zero_grad()
