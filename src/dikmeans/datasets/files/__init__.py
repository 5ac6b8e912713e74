"""Files as such: where they live, how they arrive whole, and the containers they come in."""
