"""How a fit goes: its history, progress events, and forecasts of time and memory."""
