"""The numerical heart: one training step, written once for each back end.

`arrays` names what a step changes and what it reads, `draws` makes its random numbers;
`reference` is the definition in NumPy, `cpu` the same in numba and `gpu` the same in torch.
Nothing here imports anything else of ours but errors; only `cpu` imports numba, only `gpu` torch.
"""
