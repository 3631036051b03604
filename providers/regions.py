"""Languages for providers that know them only with a region."""

REGIONS = {
    "ar": "AE",
    "de": "DE",
    "en": "US",
    "es": "ES",
    "fr": "FR",
    "hi": "IN",
    "it": "IT",
    "ja": "JP",
    "ko": "KR",
    "nl": "NL",
    "pl": "PL",
    "pt": "BR",
    "ru": "RU",
    "sv": "SE",
    "tr": "TR",
    "uk": "UA",
    "zh": "CN",
}
"""What is meant where no region is said."""


def with_region(language: str) -> str:
    """The same language with a region: "en-US" for "en"; as it is where none is known here."""
    region = REGIONS.get(language.lower())
    return f"{language.lower()}-{region}" if region else language
