"""Report and studio for people who cannot see, or use no mouse."""
