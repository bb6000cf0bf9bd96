"""Training steps, implemented once for each back end.

`arrays` names the arrays that a step reads and changes, `draws` makes its random numbers.
`reference` is the definition in NumPy, `cpu` the same in numba and `gpu` the same in torch; every
back end has the same functions. Only `cpu` and the loops import numba, only the modules of the GPU
import torch. Nothing here imports anything else of eqemb except errors and storage.
"""
