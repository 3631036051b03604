"""Prices per common unit: 1,000 minutes of audio for transcription, 1M characters for synthesis."""

from scoring.price.lists import Kind, Listed, price_of, prices_in, shipped_prices
from scoring.price.shape import Price, PriceError, rounded

__all__ = [
    "Kind",
    "Listed",
    "Price",
    "PriceError",
    "price_of",
    "prices_in",
    "rounded",
    "shipped_prices",
]
