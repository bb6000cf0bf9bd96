"""The numerical heart: one training step, written once for each back end.

`arrays` names what a step changes and what it reads, `draws` makes its random numbers;
`reference` is the definition in NumPy and `cpu` the same in numba. Nothing here imports
anything else of ours, and only `cpu` imports numba.
"""
