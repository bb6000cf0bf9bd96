"""Training data: the text as arrays, the vocabulary, phrases, and held-out words."""
