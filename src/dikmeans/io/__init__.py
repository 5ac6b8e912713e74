"""Files: whole or absent (`atomic`), one tensor format, locks, models."""
