"""Three steps, and beside them operations of the libraries behind PyTorch: CUB's choose a size by the code that runs on the card, others are
compiled as they run, plan, or ask how large a workspace must be."""
import torch

D = "cuda"


def some(*sizes, **kwargs):
    return torch.randn(*sizes, device=D, **kwargs)


def zeros(*sizes):
    return torch.zeros(*sizes, dtype=torch.long, device=D)


def definite(n=8):
    return some(n, n) + n * torch.eye(n, device=D)


OPERATIONS = [
    lambda: torch.sort(some(5000)), lambda: some(50, 5000).argsort(), lambda: some(5000).cumsum(0), lambda: some(50).nonzero(),
    lambda: torch.unique(zeros(500)), lambda: some(4, 50000).topk(50), lambda: torch.randperm(5000, device=D), lambda: torch.bincount(zeros(50)),
    lambda: some(50, requires_grad=True).prod().backward(), lambda: some(50).lgamma(), lambda: some(50).erfinv(),
    lambda: some(50, dtype=torch.complex64) * some(50, dtype=torch.complex64), lambda: some(50, dtype=torch.complex64).exp(),
    lambda: torch.fft.rfft2(some(8, 32, 32)), lambda: torch.fft.ifft(some(100, dtype=torch.complex64)),
    lambda: torch.nn.Conv2d(3, 8, 3, device=D)(some(2, 3, 16, 16)).sum().backward(),
    lambda: torch.nn.Embedding(1000, 64, device=D)(zeros(5000)).sum().backward(),
    lambda: torch.linalg.cholesky(definite()), lambda: torch.linalg.svd(definite()), lambda: torch.linalg.eigh(definite()),
    lambda: torch.linalg.solve(definite(), some(8, 2)), lambda: torch.linalg.qr(some(4, 8, 8)), lambda: torch.linalg.lstsq(some(8, 4), some(8, 2)),
    lambda: torch.sparse.mm(torch.sparse_coo_tensor(zeros(2, 50), some(50), (20, 20)), some(20, 4)),
    lambda: some(100, 10).index_put_((zeros(5000),), some(5000, 10), accumulate=True), lambda: torch.multinomial(some(50).abs(), 5),
]

model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.LayerNorm(64), torch.nn.Linear(64, 8)).to(D)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    torch.nn.functional.cross_entropy(model(some(32, 64)), zeros(32)).backward()
    optimizer.step()
    optimizer.zero_grad()
    before = torch.cuda.memory_allocated()
    for operation in OPERATIONS:
        torch.cuda.reset_peak_memory_stats()
        operation()
        peak = torch.cuda.max_memory_allocated() - before
        assert peak < 64 << 20, f"{peak} bytes for a small operation"  # a size that nobody wrote
