"""What is true: capture, IR, proofs and frame checks of real writers."""
