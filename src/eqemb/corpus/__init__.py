"""Training data: text as arrays, vocabulary, phrases, held-out words."""
