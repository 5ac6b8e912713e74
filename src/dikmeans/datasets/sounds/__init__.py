"""Sounds: from audio files to signals, and from signals to time-frequency pictures."""
