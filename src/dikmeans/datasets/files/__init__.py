"""Where files lie, how they are downloaded, and the formats and containers they come in."""
