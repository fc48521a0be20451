"""What is promised: contracts, invariants, the naive reference, verdicts and cases."""
