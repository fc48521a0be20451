"""A writer of one's own and its contract test."""
