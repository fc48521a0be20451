"""Contract pages: what a writer promises, what was found out about it, and what was not."""
