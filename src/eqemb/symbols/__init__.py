"""What the letters of an equation mean: its symbols, and their definitions in the article's text."""
