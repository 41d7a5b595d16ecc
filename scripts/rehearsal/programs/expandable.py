"""Expandable segments, an eval pass, channels-last convolutions and batch norm."""
import torch

model = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 3, padding=1), torch.nn.BatchNorm2d(32), torch.nn.ReLU(),
                            torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(32, 10)).cuda()
model = model.to(memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for _ in range(3):
    images = torch.randn(16, 3, 64, 64, device="cuda").to(memory_format=torch.channels_last)
    torch.nn.functional.cross_entropy(model(images), torch.zeros(16, dtype=torch.long, device="cuda")).backward()
    optimizer.step()
    optimizer.zero_grad()
with torch.no_grad():
    model.eval()(images)
