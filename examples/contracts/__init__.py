"""A writer for every built-in contract, with its contract test; some are wrong on purpose."""
