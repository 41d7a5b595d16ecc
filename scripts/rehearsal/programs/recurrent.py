"""A cuDNN LSTM: its descriptors are asked for sizes."""
import torch

model = torch.nn.LSTM(128, 256, num_layers=2, batch_first=True).cuda()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(3):
    model(torch.randn(8, 32, 128, device="cuda"))[0].sum().backward()
    optimizer.step()
    optimizer.zero_grad()
