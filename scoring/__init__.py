"""From texts to numbers. Pure."""
