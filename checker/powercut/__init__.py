"""powercut: is there a moment at which a power cut loses or corrupts data?"""

__version__ = "0.1.0"
