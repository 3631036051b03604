"""Recorded sessions summed up for a buyer: corpora and models, with intervals, then all together.

sessions ─taken─> samples ─parts to calls─> recordings ─> lines of a corpus ─> overall
"""
