"""eqemb: learn what equations mean from the text around them."""

__version__ = "0.1.0"
