"""What is computed once from records and model so that questions are fast."""
