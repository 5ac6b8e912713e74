"""From audio files to signals, and from signals to spectrograms."""
