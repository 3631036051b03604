"""The providers whose messages say when each word was spoken, and how that is read."""

from measure.words import ReadWords
from providers import deepgram

WORD_TIMES: dict[str, ReadWords] = {"deepgram": deepgram.words_of}
"""By the provider's name, the first part of a model's. Who is not here gives none, or none yet."""
