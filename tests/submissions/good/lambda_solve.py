# expect: accepted
# kind: good
import torch

solve = lambda x, y, n: y[:n].copy_(torch.softmax(x[:n].double(), 0))
