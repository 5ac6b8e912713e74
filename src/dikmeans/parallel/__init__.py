"""Threads of one process, and how many cores they may use."""
